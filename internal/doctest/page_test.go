// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
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
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Block{
		{Line: 9, Code: "first one\nfirst two"},
		{Line: 17, Code: "serve", Until: "is ready"},
		{Line: 22, Code: "   indented"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestParsePageRefusesMarksWithoutEffect(t *testing.T) {
	cases := map[string]struct{ text, want string }{
		"above text":             {"<!-- run -->\n\n'''sh\nx\n'''\n", "line 1: a mark to run stands above something else"},
		"above another language": {"<!-- run -->\n'''yaml\nx: y\n'''\n", "line 1: a mark to run stands above something else"},
		"at the end":             {"text\n<!-- run -->", "line 2: a mark to run stands above something else"},
		"block without end":      {"<!-- run -->\n'''sh\nx\n", "line 2: the block has no end"},
		"misspelt":               {"<!-- run in the background -->\n'''sh\nx\n'''\n", "line 1: cannot make sense of"},
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

// TestPagesCanBeParsed finds slips in the pages that CI runs, without running them.
func TestPagesCanBeParsed(t *testing.T) {
	for _, page := range []string{"README.md", "docs/pipelines.md", "docs/tutorial.md"} {
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := ParsePage(string(text))
		if err != nil {
			t.Errorf("%s: %v", page, err)
		}
		if len(blocks) < 2 {
			t.Errorf("%s has %d blocks to run", page, len(blocks))
		}
	}
}
