// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package template_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/template"
)

func TestFiles(t *testing.T) {
	root := fstest.MapFS{
		"VERSION":        {Data: []byte("1.2.3")},
		"config/a.yaml":  {Data: []byte("a: 1")},
		"config/b.yaml":  {Data: []byte("b: 12")},
		"config/sub/c":   {Data: []byte("c")},
		"large":          {Data: []byte(strings.Repeat("x", 5<<20))},
		"config/.hidden": {Data: nil},
	}
	for name, c := range map[string]struct{ path, want string }{
		"a file":                     {"VERSION", "1.2.3"},
		"a file from the root":       {"/VERSION", "1.2.3"},
		"a file from here":           {"./VERSION", "1.2.3"},
		"a file in a folder":         {"config/a.yaml", "a: 1"},
		"a path with detours":        {"config/sub/../../VERSION", "1.2.3"},
		"a file that is not there":   {"canary", "! there is no such file in the blueprint"},
		"a folder":                   {"config", "! the file cannot be read"},
		"nothing":                    {"", "! the file cannot be read"},
		"a path out":                 {"../VERSION", "! the path leads out of the blueprint or is not valid"},
		"a path out and back":        {"config/../../template/VERSION", "! the path leads out of the blueprint or is not valid"},
		"a path out from the root":   {"/../etc/passwd", "! the path leads out of the blueprint or is not valid"},
		"a path of the machine":      {"/etc/passwd", "! there is no such file in the blueprint"},
		"a URL":                      {"http://127.0.0.1/x", "! there is no such file in the blueprint"},
		"a path that is no text":     {"\xff", "! the path leads out of the blueprint or is not valid"},
		"a file that is too large":   {"large", "! the file is longer than 4194304 bytes"},
		"a folder of another system": {"config\\a.yaml", "! there is no such file in the blueprint"},
	} {
		got, err := template.NewFiles(root, template.NewMeter(template.Limits{})).Read(c.path)
		if err != nil {
			got = "! " + template.Explain(err)
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	entries, err := template.NewFiles(root, template.NewMeter(template.Limits{})).List("/config/")
	if err != nil {
		t.Fatal(err)
	}
	want := []template.Entry{{Name: ".hidden"}, {Name: "a.yaml", Size: 4}, {Name: "b.yaml", Size: 5}, {Name: "sub", IsDir: true}}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFilesAreCounted(t *testing.T) {
	root := fstest.MapFS{"a": {Data: []byte(strings.Repeat("x", 1000))}}
	files := template.NewFiles(root, template.NewMeter(template.Limits{Memory: 2500}))
	for range 2 {
		if _, err := files.Read("a"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := files.Read("a"); limitOf(err) != "Memory" {
		t.Errorf("the third file was read as well: %v", err)
	}
}

func TestNoFiles(t *testing.T) {
	files := template.NewFiles(nil, template.NewMeter(template.Limits{}))
	if _, err := files.Read("a"); template.Explain(err) != "there are no files here" {
		t.Errorf("reading: %v", err)
	}
	if _, err := files.List("."); template.Explain(err) != "there are no files here" {
		t.Errorf("listing: %v", err)
	}
}
