// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package display_test

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                            "plain",
		"two\nlines\tand\r\n more":         "two lines and more",
		"\x1b]0;title\x07 and \x1b[2J":     "]0;title and [2J",
		"right\u202eleft, zero\u200bwidth": "rightleft, zerowidth",
		"broken \xff byte":                 "broken byte",
		"\u009b31m eight-bit control":      "31m eight-bit control",
		"Grüße, 世界":                        "Grüße, 世界",
	} {
		if got := display.Clean(text); got != want {
			t.Errorf("Clean(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestSummaryAndDetails(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                  {""},
		" one line ":                        {"one line"},
		"first\tline\n\n> 1 | a\n    \t^\n": {"first line …", "", "> 1 | a", "     ^"},
		"a\r\n  \x1b[2Jb\u202e \xff":        {"a …", "  [2Jb"},
	} {
		if got := append([]string{display.Summary(text)}, display.Details(text)...); !slices.Equal(got, want) {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func environment(width int, variables map[string]string) cli.Environment {
	return cli.Environment{
		Now:    func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) },
		Size:   func(io.Writer) (int, int, bool) { return width, 10, width > 0 },
		Getenv: func(name string) string { return variables[name] },
	}
}

func printer(width int, variables map[string]string) (*bytes.Buffer, display.Printer) {
	var out bytes.Buffer
	return &out, display.To(environment(width, variables), &out)
}

func TestWhenThereAreColours(t *testing.T) {
	for name, test := range map[string]struct {
		width     int
		variables map[string]string
		want      bool
	}{
		"a file":               {0, nil, false},
		"a terminal":           {80, nil, true},
		"a dumb terminal":      {80, map[string]string{"TERM": "dumb"}, false},
		"a terminal, unwanted": {80, map[string]string{"NO_COLOR": "1"}, false},
		"a file, wanted":       {0, map[string]string{"CLICOLOR_FORCE": "1"}, true},
		"wanted and unwanted":  {0, map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, false},
		"not forced":           {0, map[string]string{"CLICOLOR_FORCE": "0"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			out, p := printer(test.width, test.variables)
			if err := p.Table(display.Table{Header: []string{"A"}, Rows: [][]display.Cell{{{Text: "b", Style: display.Red}}}}); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(out.String(), "\x1b[31mb\x1b[0m"); got != test.want {
				t.Errorf("got %q", out.String())
			}
		})
	}
}

// The last column gives way, but never as far as to be of no use.
func TestTableFitsTheTerminal(t *testing.T) {
	table := display.Table{
		Header: []string{"NAME", "MESSAGE"},
		Rows:   [][]display.Cell{{{Text: "a-name"}, {Text: "a message that is rather long"}}, {{Text: ""}, {Text: ""}}},
	}
	for width, want := range map[int]string{
		0:   "NAME     MESSAGE\na-name   a message that is rather long\n\n",
		30:  "NAME     MESSAGE\na-name   a message that is ra…\n\n",
		5:   "NAME     MESSAGE\na-name   a message…\n\n",
		100: "NAME     MESSAGE\na-name   a message that is rather long\n\n",
	} {
		out, p := printer(width, map[string]string{"NO_COLOR": "1"})
		if err := p.Table(table); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("width %d:\n%s", width, out.String())
		}
	}
}

func TestAge(t *testing.T) {
	_, p := printer(0, nil)
	if got := p.Age(time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC)); got != "60m" {
		t.Errorf("an hour ago is %s", got)
	}
	if got := p.Age(time.Time{}); got != "-" {
		t.Errorf("nobody knows when is %s", got)
	}
}

// A table becomes as narrow as the screen: the last column gives way, then the widest, then columns are left out.
func TestTableFitsTheScreen(t *testing.T) {
	table := display.Table{
		Header: []string{"NAME", "PHASE", "SINCE", "MESSAGE"},
		Rows: [][]display.Cell{
			{{Text: "a-name-of-thirty-characters-aaa"}, {Text: "Progressing"}, {Text: "20h"}, {Text: "a message that is rather long"}},
			{{Text: "short"}, {Text: "Failed"}, {Text: "-"}, {Text: ""}},
		},
	}
	for width, want := range map[int]string{
		0:   "NAME                              PHASE         SINCE   MESSAGE|a-name-of-thirty-characters-aaa   Progressing   20h     a message that is rather long|short                             Failed        -",
		100: "NAME                              PHASE         SINCE   MESSAGE|a-name-of-thirty-characters-aaa   Progressing   20h     a message that is rather long|short                             Failed        -",
		70:  "NAME                              PHASE         SINCE   MESSAGE|a-name-of-thirty-characters-aaa   Progressing   20h     a message tha…|short                             Failed        -",
		60:  "NAME                        PHASE         SINCE   MESSAGE|a-name-of-thirty-charact…   Progressing   20h     a message…|short                       Failed        -",
		40:  "NAME                 PHASE         SINCE|a-name-of-thirty-…   Progressing   20h|short                Failed        -",
		30:  "NAME               PHASE|a-name-of-thirt…   Progressing|short              Failed",
		20:  "NAME     PHASE|a-nam…   Progressing|short    Failed",
		5:   "…   …|…   …|…   …",
	} {
		_, p := printer(width, map[string]string{"NO_COLOR": "1"})
		if got := strings.Join(p.Align(p.Fit(table)), "|"); got != want {
			t.Errorf("width %d:\n%s", width, got)
		}
	}
}

// Some characters take two columns of the terminal, others none.
func TestWideCharacters(t *testing.T) {
	for text, want := range map[string]string{
		"世界世界世界":                       "世界…",
		"ab世界世界":                       "ab世…",
		"🚀🚀":                           "🚀🚀",
		"🚀🚀🚀🚀":                         "🚀🚀…",
		"e\u0301e\u0301e\u0301e\u0301": "e\u0301e\u0301e\u0301e\u0301",
	} {
		if got := display.Cut(text, 5); got != want {
			t.Errorf("%q is cut to %q", text, got)
		}
	}
	if got := display.Cut("世", 1) + "|" + display.Cut("世", 0); got != "…|" {
		t.Errorf("where there is no room for it, there is %q", got)
	}
	table := display.Table{Header: []string{"NAME", "WORDS"}, Rows: [][]display.Cell{{{Text: "世界世界"}, {Text: "世界世界世界"}}, {{Text: "a"}, {Text: "b"}}}}
	for width, want := range map[int]string{
		0:  "NAME       WORDS|世界世界   世界世界世界|a          b",
		22: "NAME       WORDS|世界世界   世界世界世…|a          b",
		18: "NAME       WORDS|世界世界   世界世…|a          b",
		9:  "NAME    …|世界…   …|a       b",
	} {
		_, p := printer(width, map[string]string{"NO_COLOR": "1"})
		if got := strings.Join(p.Align(p.Fit(table)), "|"); got != want {
			t.Errorf("width %d:\n%s", width, got)
		}
	}
	_, p := printer(20, nil)
	if room := p.Room(table); room != 0 {
		t.Errorf("there is room for %d", room)
	}
	for text, want := range map[string]string{"世界世界世界": "世界|世界|世界", "a 世界 b": "a|世界|b", "  世界": "  世|  界"} {
		if got := strings.Join(display.Wrap([]string{text}, 4), "|"); got != want {
			t.Errorf("%q is wrapped to %q", text, got)
		}
	}
	if got := display.Wrap([]string{"世界"}, 1); len(got) != 2 {
		t.Errorf("where there is no room for it, it is %q", got)
	}
}

// back moves the cursor to the start of the area.
var back = regexp.MustCompile(`\x1b\[(\d+)A\x1b\[J`)

// A line that the terminal wraps would leave the cursor below the start of the area.
func TestAreaFitsTheTerminal(t *testing.T) {
	const width = 40
	var out bytes.Buffer
	env := environment(width, map[string]string{"NO_COLOR": "1"})
	env.Now = clitest.Now
	area := display.NewArea(env, &out)
	trees := func(message string) []*objecttree.Node {
		objects := objecttree.Objects{}
		for i := range 12 {
			root := testkit.Installation("shops", fmt.Sprintf("with-a-name-longer-than-the-terminal-%d", i)).Build()
			root.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing, clitest.Waits(lsv1alpha1.ReasonWaitingForSubObjects, message))
			objects.Put(root)
		}
		return objects.Forest().Tops
	}
	for _, count := range []int{2, 12} {
		before := out.Len()
		area.Draw(trees("first")[:count], nil)
		drawn := strings.Count(out.String()[before:], "\n")
		before = out.Len()
		area.Draw(trees("second")[:count], []string{strings.Repeat("世界", 20)})
		if got := back.FindStringSubmatch(out.String()[before:]); got == nil || got[1] != fmt.Sprint(drawn) {
			t.Errorf("%d lines were drawn, and the cursor goes back %q", drawn, got)
		}
	}
	for line := range strings.Lines(back.ReplaceAllString(out.String(), "")) {
		if line = strings.TrimSuffix(line, "\n"); display.Width(line) > width {
			t.Errorf("%q is %d wide", line, display.Width(line))
		}
	}
	area.Finish(trees("the end")[:1])
	if !strings.HasSuffix(out.String(), "with-a-name-longer-than-the-terminal-0   Progressing   20h     the end\n") {
		t.Errorf("the end is cut:\n%s", out.String())
	}
}

func TestWrap(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"exactly 10":                "exactly 10",
		"two words too many":        "two words|too many",
		"  indented text":           "  indented|  text",
		"unbreakabletext":           "unbreakabl|etext",
		"a unbreakabletext":         "a|unbreakabl|etext",
		"         far to the right": "         f|ar to the|right",
		"Grüße über Grüße":          "Grüße über|Grüße",
	} {
		if got := strings.Join(display.Wrap([]string{text}, 10), "|"); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
