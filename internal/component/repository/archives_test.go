// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"espalier.dev/internal/component"
	"espalier.dev/internal/oci"
)

// counted is a directory that counts how often its files are opened.
type counted struct {
	fs.StatFS
	opened int
}

func (c *counted) Open(name string) (fs.File, error) {
	c.opened++
	return c.StatFS.Open(name)
}

func TestAnArchiveIsReadOnceUntilItChanges(t *testing.T) {
	directory := t.TempDir()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	write := func(text string, at time.Time) {
		a, layer := oci.NewArchive(), blob{"text/plain", text}
		written{name: "example.org/a", version: "1.0.0", layers: []blob{layer},
			resources: `{name: txt, type: t, version: 1.0.0, access: {type: localBlob, localReference: "` + layer.digest() + `"}}`}.push(t, a)
		files, err := a.Files()
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(directory, "a.tar")
		if err := os.WriteFile(name, tarOf(t, files), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	files := &counted{StatFS: os.DirFS(directory).(fs.StatFS)}
	archives := NewArchives()
	job := func() *Repositories { return New(Options{Files: files, Archives: archives}) }
	at := component.Coordinates{
		RepositoryContext: contextOf(t, map[string]any{"type": "CommonTransportFormat", "filePath": "a.tar"}), Name: "example.org/a", Version: "1.0.0",
	}
	reads := func(r *Repositories, want string) {
		t.Helper()
		if got, err := read(t.Context(), t, r, at, "txt"); err != nil || string(got.Data) != want {
			t.Errorf("got %q, %v", got.Data, err)
		}
	}
	write("first", began)
	old := job()
	reads(old, "first")
	reads(job(), "first")
	if files.opened != 1 {
		t.Errorf("two jobs have opened the archive %d times", files.opened)
	}
	write("other", began.Add(time.Second))
	reads(job(), "other")
	reads(old, "first")
	if files.opened != 2 {
		t.Errorf("after a change the archive was opened %d times", files.opened)
	}
}
