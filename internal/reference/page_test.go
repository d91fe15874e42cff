// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the pages in docs/reference")

var root = filepath.Join("..", "..")

func TestThePagesAreUpToDate(t *testing.T) {
	for name, page := range map[string]func(string) (string, error){"provider-configuration.md": Page, "metrics.md": MetricsPage} {
		want, err := page(root)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, "docs", "reference", name)
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s differs from the code: run go test ./internal/reference -update", name)
		}
	}
}

// Every link leads to a heading, every heading is there once, and every field says what it is.
func TestThePageIsComplete(t *testing.T) {
	page, err := Page(root)
	if err != nil {
		t.Fatal(err)
	}
	headings := map[string]int{}
	for _, heading := range regexp.MustCompile(`(?m)^### (.+)$`).FindAllStringSubmatch(page, -1) {
		headings[strings.ToLower(heading[1])]++
	}
	for _, link := range regexp.MustCompile(`\]\(#([^)]+)\)`).FindAllStringSubmatch(page, -1) {
		if headings[link[1]] != 1 {
			t.Errorf("%d headings for %s", headings[link[1]], link[1])
		}
	}
	for line := range strings.SplitSeq(page, "\n") {
		if strings.HasSuffix(line, "|  |") {
			t.Errorf("a field without a comment: %s", line)
		}
	}
	for _, wanted := range []string{
		"| `name` | string | yes | name of the release",
		"| `resourceRef` | string |",
		"| `policy` | `manage`, `fallback`, `keep`, `immutable`, `ignore` |",
		"| `manifests` | list of [Manifest](#manifest) |",
	} {
		if !strings.Contains(page, wanted) {
			t.Errorf("the page lacks %s", wanted)
		}
	}
}

func TestAMissingTreeIsAnError(t *testing.T) {
	for _, page := range []func(string) (string, error){Page, MetricsPage} {
		if text, err := page(t.TempDir()); err == nil {
			t.Errorf("got %d bytes", len(text))
		}
	}
}
