// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const dependencyPage = "docs/dependencies.md"

// TestEveryDependencyHasAReason compares the page with the go.mod files of the tree.
func TestEveryDependencyHasAReason(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(dependencyPage)))
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string]Dependencies{}
	for _, goMod := range findModules(t) {
		if modules[goMod], err = ReadDependencies(filepath.Join(root, filepath.FromSlash(goMod))); err != nil {
			t.Fatal(err)
		}
	}
	if len(modules) < 4 {
		t.Fatalf("found only %v", slices.Sorted(maps.Keys(modules)))
	}
	for _, problem := range CompareDependencies(string(page), modules) {
		t.Errorf("%s: %s", dependencyPage, problem)
	}
}

func findModules(t *testing.T) []string {
	t.Helper()
	var modules []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path.Base(name) == "testdata":
			return fs.SkipDir
		case entry.IsDir():
			return skipFolder(name)
		case path.Base(name) == "go.mod":
			modules = append(modules, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return modules
}

func TestReadDependencies(t *testing.T) {
	goMod := filepath.Join(t.TempDir(), "go.mod")
	text := `module espalier.dev/tools

go 1.26.0

tool example.org/lint/cmd/lint

require (
	espalier.dev/api v0.0.0
	example.org/direct v1.2.3
	example.org/far v0.1.0 // indirect
	example.org/lint v0.8.2 // indirect
)

require example.org/single v2.0.0+incompatible
`
	if err := os.WriteFile(goMod, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ReadDependencies(goMod)
	if err != nil {
		t.Fatal(err)
	}
	want := Dependencies{"example.org/direct": "v1.2.3", "example.org/lint": "v0.8.2", "example.org/single": "v2.0.0+incompatible"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReadDependenciesNamesTheBrokenFile(t *testing.T) {
	goMod := filepath.Join(t.TempDir(), "go.mod")
	if err := os.WriteFile(goMod, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadDependencies(goMod); err == nil || !strings.Contains(err.Error(), goMod) {
		t.Errorf("got %v, want an error that names %s", err, goMod)
	}
}

func TestCompareDependencies(t *testing.T) {
	const page = "# Dependencies\n\n## `go.mod`\n\n| module | version | reason |\n|---|---|---|\n| `a.org/a` | v1.0.0 | It is good. |\n"
	cases := map[string]struct {
		page    string
		modules map[string]Dependencies
		want    []string
	}{
		"equal":       {page, map[string]Dependencies{"go.mod": {"a.org/a": "v1.0.0"}}, nil},
		"missing":     {page, map[string]Dependencies{"go.mod": {"a.org/a": "v1.0.0", "b.org/b": "v2.0.0"}}, []string{"go.mod requires b.org/b v2.0.0, and nobody says why"}},
		"stale":       {page, map[string]Dependencies{"go.mod": {}}, []string{"the page lists a.org/a, which go.mod does not require"}},
		"old version": {page, map[string]Dependencies{"go.mod": {"a.org/a": "v1.0.1"}}, []string{"go.mod requires a.org/a v1.0.1, the page says v1.0.0"}},
		"no section":  {page, map[string]Dependencies{"go.mod": {"a.org/a": "v1.0.0"}, "api/go.mod": {"c.org/c": "v1.0.0"}}, []string{"api/go.mod requires c.org/c v1.0.0, and nobody says why"}},
		"old section": {page, map[string]Dependencies{}, []string{"the page has a section for go.mod, which does not exist"}},
		"no reason":   {strings.Replace(page, "It is good.", " ", 1), map[string]Dependencies{"go.mod": {"a.org/a": "v1.0.0"}}, []string{"go.mod: a.org/a is listed without a reason"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := CompareDependencies(c.page, c.modules); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
