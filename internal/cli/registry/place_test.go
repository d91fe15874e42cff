// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/archive"
)

func TestParsePlace(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := filepath.EvalSymlinks(".")
	if err == nil {
		here, err = filepath.Abs(here)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll("folder", 0o755); err != nil {
		t.Fatal(err)
	}
	type place struct{ Kind, URL, File, Name, Version, Directory string }
	for argument, want := range map[string]place{
		"r.example.com//a:1.0.0":                         {Kind: "OCIRegistry", URL: "r.example.com", Name: "a", Version: "1.0.0"},
		"r.example.com:5000/x//example.com/a:1.0.0+b.1":  {Kind: "OCIRegistry", URL: "r.example.com:5000/x", Name: "example.com/a", Version: "1.0.0+b.1"},
		"http://localhost:5000//example.com/a/b:1.0.0":   {Kind: "OCIRegistry", URL: "http://localhost:5000", Name: "example.com/a/b", Version: "1.0.0"},
		"oci://r.example.com/x//a:1.0.0":                 {Kind: "OCIRegistry", URL: "oci://r.example.com/x", Name: "a", Version: "1.0.0"},
		"folder//example.com/a:1.0.0":                    {Kind: "CommonTransportFormat", File: "folder", Name: "example.com/a", Version: "1.0.0", Directory: here},
		"./folder//a:1.0.0":                              {Kind: "CommonTransportFormat", File: "folder", Name: "a", Version: "1.0.0", Directory: here},
		filepath.Join(here, "folder") + "//a:1.0.0":      {Kind: "CommonTransportFormat", File: "folder", Name: "a", Version: "1.0.0", Directory: here},
		"http://folder//example.com/a:1.0.0":             {Kind: "OCIRegistry", URL: "http://folder", Name: "example.com/a", Version: "1.0.0"},
		"r.example.com/with/folder//example.com/a:1.0.0": {Kind: "OCIRegistry", URL: "r.example.com/with/folder", Name: "example.com/a", Version: "1.0.0"},
	} {
		parsed, err := ParsePlace(argument)
		if err != nil {
			t.Errorf("%s: %v", argument, err)
			continue
		}
		file, _ := parsed.RepositoryContext.Object()["filePath"].(string)
		got := place{
			Kind: parsed.RepositoryContext.Type(), URL: parsed.RepositoryContext.BaseURL(), File: file,
			Name: parsed.Name, Version: parsed.Version, Directory: parsed.Directory,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", argument, diff)
		}
	}
}

func TestShown(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0f", 32)
	for argument, want := range map[string]string{
		"r.example.com/a:1":                        "r.example.com/a:1",
		"r.example.com/a:1" + digest:               "r.example.com/a:1" + digest,
		"https://me:pw@r.example.com/a:1":          "https://<masked>@r.example.com/a:1",
		"https://me:p@w@r.example.com/a:1":         "https://<masked>@r.example.com/a:1",
		"me:pw@r.example.com/a:1":                  "<masked>@r.example.com/a:1",
		"me:x@sha256:12@r.example.com/a:1":         "<masked>@r.example.com/a:1",
		"https://me:pw@r.example.com/a:1" + digest: "https://<masked>@r.example.com/a:1" + digest,
		"r.example.com/\x1b[2Ja\u202e:1":           "r.example.com/[2Ja:1",
		"me:p://w@r.example.com//a:1":              "<masked>@r.example.com//a:1",
	} {
		if got := Shown(argument); got != want {
			t.Errorf("%q is shown as %q, want %q", argument, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "//", "a//b:c", "http://", "http:////", ":////:", "./x.tgz//a:1@sha256:00", "\x00//\x00:\x00", "@//@:@"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, argument string) {
		for _, parse := range []func(string) error{
			func(text string) error { _, err := ParsePlace(text); return err },
			func(text string) error { _, err := ParseReference(text); return err },
		} {
			if err := parse(argument); err != nil && strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%q: the error steers the terminal", argument)
			}
		}
	})
}

func TestFilesAreWrittenAsAWhole(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := WriteFile(file, writing([]byte("one"))); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := WriteFile(file, func(w io.Writer) error {
		_, _ = io.WriteString(w, "tw")
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "one" {
		t.Errorf("the file has %q, %v", text, err)
	}
	wantEntries(t, folder, "file")
}

// Names that mean the same file are an error, and leave nothing.
func TestDirectoriesAreWrittenAsAWhole(t *testing.T) {
	folder := t.TempDir()
	for name, files := range map[string]archive.Files{
		"a file and a directory": {"a": []byte("x"), "a/b": []byte("y")},
		"a way out":              {"ok": nil, "../evil": []byte("x")},
		"an absolute way out":    {"/evil": []byte("x")},
	} {
		if err := WriteDirectory(filepath.Join(folder, "target"), files); err == nil {
			t.Errorf("%s is written", name)
		}
		wantEntries(t, folder)
	}
	if err := WriteDirectory(filepath.Join(folder, "target"), archive.Files{"a/b": []byte("y")}); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, folder, "target")
	if err := WriteDirectory(filepath.Join(folder, "target"), archive.Files{"c": []byte("y")}); err == nil {
		t.Error("a directory that is not empty is replaced")
	}
	wantEntries(t, filepath.Join(folder, "target"), "a")
}

func wantEntries(t *testing.T, folder string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", folder, diff)
	}
}
