// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

func inline(text string) lsv1alpha1.AnyJSON { return lsv1alpha1.AnyJSON{Raw: []byte(text)} }

func TestInlineFiles(t *testing.T) {
	files, err := InlineFiles(inline(`{"blueprint.yaml": "kind: Blueprint", "data": {"deep": {"a.txt": "A"}, "b.txt": ""}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"blueprint.yaml": "kind: Blueprint", "data/deep/a.txt": "A", "data/b.txt": ""}
	got := map[string]string{}
	for name, content := range files {
		got[name] = string(content)
	}
	if !maps.Equal(got, want) {
		t.Errorf("files = %v, want %v", got, want)
	}
}

func TestInlineFilesRefusesWhatIsNoDirectory(t *testing.T) {
	for name, c := range map[string]struct{ tree, want string }{
		"nothing":            {`null`, "must be an object"},
		"a text":             {`"x"`, "must be an object"},
		"a list":             {`[]`, "must be an object"},
		"a number as a file": {`{"a": 5}`, "a: the content of a file must be a text"},
		"a list as a file":   {`{"d": {"a": ["x"]}}`, "d/a: the content"},
		"a way out":          {`{"d": {"..": {"passwd": "x"}}}`, `is not a name`},
		"a path as a name":   {`{"a/b": "x"}`, `"a/b" is not a name`},
		"an empty name":      {`{"": "x"}`, "is not a name"},
		"a big file":         {fmt.Sprintf(`{"a": %q}`, strings.Repeat("x", maxFileBytes+1)), "a: the file has"},
		"a deep directory":   {strings.Repeat(`{"d":`, maxDepth+3) + `"x"` + strings.Repeat("}", maxDepth+3), "nested deeper"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := InlineFiles(inline(c.tree))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want one that says %q", err, c.want)
			}
		})
	}
}

// The standard library's own test of file systems walks, opens, reads and stats everything.
func TestFilesIsAFileSystem(t *testing.T) {
	files := Files{"blueprint.yaml": []byte("x"), "a/b/c.txt": []byte("C"), "a/d.txt": nil}
	if err := fstest.TestFS(files, slices.Collect(maps.Keys(files))...); err != nil {
		t.Error(err)
	}
	if err := fstest.TestFS(Files{}); err != nil {
		t.Error("empty:", err)
	}
}

func TestCopyFiles(t *testing.T) {
	files, err := CopyFiles(fstest.MapFS{"blueprint.yaml": {Data: []byte("x")}, "d/a": {Data: []byte("A")}})
	if err != nil || string(files["d/a"]) != "A" || len(files) != 2 {
		t.Errorf("CopyFiles = %v, %v", files, err)
	}
	_, err = CopyFiles(fstest.MapFS{"link": {Data: []byte("/etc/passwd"), Mode: 0o777 | 1<<27}})
	if err == nil || !strings.Contains(err.Error(), "link: only files and directories") {
		t.Errorf("a link gave %v", err)
	}
}

func TestReadAcceptsTheWaysPeopleWritePaths(t *testing.T) {
	files := Files{"data/a.yaml": []byte("A")}
	for _, name := range []string{"data/a.yaml", "/data/a.yaml", "./data/a.yaml", "//data/./a.yaml"} {
		if content, err := readFile(files, name); err != nil || string(content) != "A" {
			t.Errorf("read(%q) = %q, %v", name, content, err)
		}
	}
	for _, name := range []string{"../data/a.yaml", "", "/", "data"} {
		if _, err := readFile(files, name); err == nil || !strings.Contains(err.Error(), "it has data/a.yaml") {
			t.Errorf("read(%q) gave %v, want an error that lists the files", name, err)
		}
	}
}
