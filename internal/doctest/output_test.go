// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestOutputIsCompared(t *testing.T) {
	const printed = "NAME          SINCE\nshop-jw3m2    2s\n\nshop succeeded in 3s\n"
	cases := map[string]struct{ shown, varies, wrong string }{
		"the same":                     {shown: printed},
		"other gaps":                   {shown: "NAME SINCE\nshop-jw3m2 2s\n\nshop succeeded in 3s"},
		"words that vary":              {shown: "NAME SINCE\nshop-aaaaa 1s\n\nshop succeeded in 1s", varies: "aaaaa 1s"},
		"a part of a line":             {shown: "NAME SINCE\nshop-... 2s\n\nshop ... 3s"},
		"lines left out":               {shown: "...\nshop succeeded in 3s"},
		"the lines after":              {shown: "NAME SINCE\n..."},
		"no line left out":             {shown: "...\n" + printed},
		"another word":                 {shown: "NAME SINCE\nblog-jw3m2 2s\n...", wrong: "do not print there: blog-jw3m2 2s"},
		"a word that does not vary":    {shown: "NAME SINCE\nshop-aaaaa 1s\n...", varies: "1s", wrong: "on line 12"},
		"a letter of a word that does": {shown: "NAME SINCE\nshop-aaaaas 2s\n...", varies: "2s", wrong: "on line 12"},
		"lines in another order":       {shown: "shop-jw3m2 2s\nNAME SINCE\n...", wrong: "on line 11"},
		"a line that is not printed":   {shown: printed + "and more", wrong: "on line 15"},
		"a line that is not shown":     {shown: "NAME SINCE\nshop-jw3m2 2s", wrong: "print more than the page shows up to line 12"},
		"nothing for a part of a line": {shown: "NAME SINCE ...\n...", wrong: "on line 11"},
		"a pattern is no pattern":      {shown: "NAM. SINC.\n...", wrong: "on line 11"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			output, err := newOutput(11, c.shown, c.varies)
			if err != nil {
				t.Fatal(err)
			}
			err = output.Check(printed)
			if c.wrong == "" && err != nil {
				t.Error(err)
			}
			if c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
				t.Errorf("got %v, want %q", err, c.wrong)
			}
		})
	}
}

// runText runs the blocks of a page.
func runText(t *testing.T, text string) (string, error) {
	t.Helper()
	blocks, err := ParsePage(text)
	if err != nil {
		t.Fatal(err)
	}
	return run(t, blocks...)
}

func TestAPageThatShowsAWrongOutputFails(t *testing.T) {
	shown := page("<!-- run -->\n'''sh\necho one\necho two >&2\n'''\n\nThis prints:\n\n<!-- output -->\n'''text\none\ntwo\n'''\n")
	next := page("\n<!-- run -->\n'''sh\necho next block\n'''\n")
	if out, err := runText(t, shown+next); err != nil || !strings.Contains(out, "\nnext block\n") {
		t.Errorf("%v\n%s", err, out)
	}
	out, err := runText(t, strings.ReplaceAll(shown, "one\ntwo\n", "one\nthree\n")+next)
	if err == nil || !strings.Contains(err.Error(), "line 12 what the commands do not print there: three") {
		t.Errorf("got error %v, want one that names line 12", err)
	}
	if strings.Contains(out, "next block") {
		t.Errorf("went on after the failure:\n%s", out)
	}
}

func TestTheOutputOfABackgroundBlockIsCompared(t *testing.T) {
	text := page("<!-- run -->\n'''sh\nexport MARKER="+filepath.Join(t.TempDir(), "marker")+"\n'''\n"+
		"<!-- run in background until \"is\" -->\n'''sh\n") + server + page("\n'''\n<!-- output -->\n'''text\nstarting\nis ready\n'''\n")
	if out, err := runText(t, text); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	out, err := runText(t, strings.Replace(text, "starting\nis ready\n", "starting\nis here\n", 1))
	if err == nil || !strings.Contains(err.Error(), "do not print there: is here") {
		t.Errorf("got %v:\n%s", err, out)
	}
}
