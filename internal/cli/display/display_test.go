// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package display_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
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

func printer(width int, variables map[string]string) (*bytes.Buffer, display.Printer) {
	var out bytes.Buffer
	env := cli.Environment{
		Now:    func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) },
		Size:   func(io.Writer) (int, int, bool) { return width, 10, width > 0 },
		Getenv: func(name string) string { return variables[name] },
	}
	return &out, display.To(env, &out)
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
