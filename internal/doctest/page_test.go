// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// page writes Markdown with single quotes in place of backquotes.
func page(text string) string { return strings.ReplaceAll(text, "'", "`") }

func TestParsePage(t *testing.T) {
	got, err := ParsePage(page(`# Title

'''sh
not marked
'''

<!-- run -->
'''sh
first one
first two
'''

Then in another terminal:

<!-- run in background until "is ready" -->
'''sh
serve
'''

   <!-- run -->
   '''sh
   indented
   '''

This prints:

   <!-- output; varies: 1s -->
   '''text
   done in 1s
   '''
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Block{
		{Line: 9, Code: "first one\nfirst two"},
		{Line: 17, Code: "serve", Until: "is ready"},
		{Line: 22, Code: "   indented", Output: Output{Line: 29, Text: "   done in 1s", Varies: "1s"}},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestParsePageRefusesMarksWithoutEffect(t *testing.T) {
	const echo = "<!-- run -->\n'''sh\necho 1s\n'''\n"
	cases := map[string]struct{ text, want string }{
		"above text":             {"<!-- run -->\n\n'''sh\nx\n'''\n", "line 1: the mark stands above something else"},
		"above another language": {"<!-- run -->\n'''yaml\nx: y\n'''\n", "line 1: the mark stands above something else"},
		"at the end":             {"text\n<!-- run -->", "line 2: the mark stands above something else"},
		"block without end":      {"<!-- run -->\n'''sh\nx\n", "line 2: the block has no end"},
		"misspelt":               {"<!-- run in the background -->\n'''sh\nx\n'''\n", "line 1: cannot make sense of"},
		"output of nothing":      {"<!-- output -->\n'''text\nx\n'''\n", "line 1: no block is run above this output"},
		"two outputs":            {echo + strings.Repeat("<!-- output -->\n'''text\n1s\n'''\n", 2), "line 9: no block is run above this output"},
		"output above nothing":   {echo + "<!-- output -->\n", "line 5: the mark stands above something else than a block of text"},
		"output misspelt":        {echo + "<!-- output varies: 1s -->\n'''text\n1s\n'''\n", "line 5: cannot make sense of"},
		"output of dots":         {echo + "<!-- output -->\n'''text\n...\n\n'''\n", "line 7: the output shows nothing to compare"},
		"nothing varies":         {echo + "<!-- output; varies: 2s -->\n'''text\n1s\n'''\n", "line 7: the output does not contain 2s"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := ParsePage(page(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestPagesCanBeParsed finds slips in all pages with commands to run, without running them, and pages whose commands nothing runs. CI runs
// the pages that start what they need; the READMEs of most examples share a control plane, which a test of the program starts.
func TestPagesCanBeParsed(t *testing.T) {
	root := filepath.Join("..", "..")
	ci, err := os.ReadFile(filepath.Join(root, ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.FieldsFunc(string(ci), func(r rune) bool { return strings.ContainsRune(" ;\n", r) })
	started := 0
	for _, folder := range []string{"README.md", "docs", "examples"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(place string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(place) != ".md" {
				return err
			}
			text, err := os.ReadFile(place)
			if err != nil {
				return err
			}
			blocks, err := ParsePage(string(text))
			if err != nil {
				t.Errorf("%s: %v", place, err)
			}
			page, err := filepath.Rel(root, place)
			page = filepath.ToSlash(page)
			starts := slices.ContainsFunc(blocks, func(b Block) bool { return b.Until != "" })
			shares, _ := path.Match("examples/*/README.md", page)
			switch isListed := slices.Contains(listed, page); {
			case starts:
				started++
				if !isListed {
					t.Errorf("%s has commands to run, and .ci/run does not run them", page)
				}
			case isListed:
				t.Errorf("%s starts nothing, and .ci/run runs its commands", page)
			case len(blocks) > 0 && !shares:
				t.Errorf("%s has commands to run, and starts nothing that they need", page)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if started < 8 {
		t.Errorf("only %d pages start something", started)
	}
}
