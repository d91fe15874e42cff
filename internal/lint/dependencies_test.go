// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package lint

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

// TestEveryDependencyHasAReason compares the page with the modules of the tree.
func TestEveryDependencyHasAReason(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(dependencyPage)))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	var modules []*Module
	for _, goMod := range findModules(t) {
		module, err := ReadModule(root, goMod)
		if err != nil {
			t.Fatal(err)
		}
		modules = append(modules, module)
	}
	if len(modules) < 4 {
		t.Fatalf("found only %d modules", len(modules))
	}
	direct := map[string]Dependencies{}
	for _, module := range modules {
		direct[module.GoMod] = module.Direct(tree, modules)
	}
	for _, problem := range CompareDependencies(string(page), direct) {
		t.Errorf("%s: %s", dependencyPage, problem)
	}
}

// TestThePackagesOfProgramsAreCompiledOnce compares the modules of which a release is built.
func TestThePackagesOfProgramsAreCompiledOnce(t *testing.T) {
	var modules []*Module
	for _, goMod := range []string{"go.mod", "cmd/espalier/go.mod"} {
		module, err := ReadModule(root, goMod)
		if err != nil {
			t.Fatal(err)
		}
		modules = append(modules, module)
	}
	for _, problem := range DifferingVersions(modules[0], modules[1]) {
		t.Error(problem)
	}
}

func TestDifferingVersions(t *testing.T) {
	one := &Module{GoMod: "go.mod", requires: Dependencies{"example.org/a": "v1.0.0", "example.org/b": "v0.1.0", "example.org/only": "v1.0.0"}}
	other := &Module{GoMod: "cmd/go.mod", requires: Dependencies{"example.org/a": "v1.0.0", "example.org/b": "v0.2.0", "example.org/more": "v1.0.0"}}
	want := []string{"go.mod requires example.org/b v0.1.0, cmd/go.mod requires v0.2.0: use the newer one in both, so that it is compiled once"}
	if got := DifferingVersions(one, other); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
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

func writeModule(t *testing.T, text string) *Module {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "go.mod"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	module, err := ReadModule(folder, "go.mod")
	if err != nil {
		t.Fatal(err)
	}
	return module
}

func TestDirectDependencies(t *testing.T) {
	module := writeModule(t, `module espalier.dev

go 1.26.0

tool example.org/lint/cmd/lint

require (
	espalier.dev/api v0.0.0
	example.org/direct v1.2.3
	example.org/direct/nested v0.9.0 // indirect
	example.org/far v0.1.0 // indirect
	example.org/lint v0.8.2 // indirect
	example.org/unused v1.0.0
)

require example.org/single v2.0.0+incompatible
`)
	inner := &Module{GoMod: "inner/go.mod", requires: Dependencies{"example.org/far": "v0.1.0"}}
	loaded := tree(t, map[string]string{
		"a/a.go":       "package a\n\nimport (\n\t\"fmt\"\n\t\"espalier.dev/api/v1\"\n\t\"example.org/direct/part\"\n)\n",
		"a/a_test.go":  "package a\n\nimport \"example.org/direct/nested/part\"\n",
		"inner/a.go":   "package inner\n\nimport \"example.org/far\"\n",
		"innermost.go": "package root\n\nimport \"example.org/single\"\n",
	})
	cases := map[*Module]Dependencies{
		module: {
			"example.org/direct":        "v1.2.3",
			"example.org/direct/nested": "v0.9.0",
			"example.org/lint":          "v0.8.2",
			"example.org/single":        "v2.0.0+incompatible",
		},
		inner: {"example.org/far": "v0.1.0"},
	}
	for of, want := range cases {
		if got := of.Direct(loaded, []*Module{module, inner}); !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", of.GoMod, got, want)
		}
	}
}

func TestReadModuleNamesTheBrokenFile(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "go.mod"), []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadModule(folder, "go.mod"); err == nil || !strings.Contains(err.Error(), "go.mod") {
		t.Errorf("got %v, want an error that names the file", err)
	}
}

func TestCompareDependencies(t *testing.T) {
	const page = "# Dependencies\n\n## `go.mod`\n\n| module | version | reason |\n|---|---|---|\n| `a.org/a` | v1.0.0 | It is good. |\n"
	cases := map[string]struct {
		page    string
		modules map[string]Dependencies
		want    []string
	}{
		"equal": {page, map[string]Dependencies{"go.mod": {"a.org/a": "v1.0.0"}}, nil},
		"missing": {page, map[string]Dependencies{"go.mod": {
			"a.org/a": "v1.0.0",
			"b.org/b": "v2.0.0",
		}}, []string{"go.mod requires b.org/b v2.0.0 without a reason: add a row"}},
		"stale": {page, map[string]Dependencies{"go.mod": {}}, []string{"the page lists a.org/a, which go.mod does not require"}},
		"old version": {
			page,
			map[string]Dependencies{"go.mod": {"a.org/a": "v1.0.1"}},
			[]string{"go.mod requires a.org/a v1.0.1, the page says v1.0.0"},
		},
		"no section": {
			page,
			map[string]Dependencies{"go.mod": {"a.org/a": "v1.0.0"}, "api/go.mod": {"c.org/c": "v1.0.0"}},
			[]string{"api/go.mod requires c.org/c v1.0.0 without a reason: add a row"},
		},
		"old section": {page, map[string]Dependencies{}, []string{"the page has a section for go.mod, which does not exist"}},
		"no reason": {
			strings.Replace(page, "It is good.", " ", 1),
			map[string]Dependencies{"go.mod": {"a.org/a": "v1.0.0"}},
			[]string{"go.mod: a.org/a is listed without a reason"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := CompareDependencies(c.page, c.modules); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
