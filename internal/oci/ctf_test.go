// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"espalier.dev/internal/archive"
)

// forms returns an archive as a directory, as tar and as tgz.
func forms(t testing.TB, files archive.Files) map[string]*Archive {
	t.Helper()
	directory := t.TempDir()
	for name, content := range files {
		at := filepath.Join(directory, "directory", name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tar, err := archive.Tar(files)
	if err != nil {
		t.Fatal(err)
	}
	tgz, err := archive.Gzip(tar)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tar": tar, "tgz": tgz} {
		if err := os.WriteFile(filepath.Join(directory, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(directory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	opened := map[string]*Archive{}
	for _, form := range []string{"directory", "tar", "tgz"} {
		if opened[form], err = OpenArchive(root.FS(), form); err != nil {
			t.Fatal(err)
		}
	}
	return opened
}

func TestArchive(t *testing.T) {
	written := NewArchive()
	pushed := push(t, written, "team/image", "1.0.0", "content")
	push(t, written, "team/image", "2.0.0", "old")
	second := push(t, written, "team/image", "2.0.0", "second")
	files, err := written.Files()
	if err != nil {
		t.Fatal(err)
	}
	for form, a := range forms(t, files) {
		t.Run(form, func(t *testing.T) {
			for _, reference := range []string{"1.0.0", pushed.Digest.String()} {
				got, err := a.Manifest(t.Context(), "team/image", reference)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(pushed, got); diff != "" {
					t.Error(diff)
				}
			}
			if got, err := readLayer(t.Context(), a, "team/image", layerOf(t, pushed)); err != nil || got != "content" {
				t.Errorf("got %q, %v", got, err)
			}
			if got, err := a.Manifest(t.Context(), "team/image", "2.0.0"); err != nil || got.Digest != second.Digest {
				t.Errorf("got %v, %v", got, err)
			}
			_, err := a.Manifest(t.Context(), "team/image", "3.0.0")
			expect(t, err, NotFound, "not in the archive", form)
			_, err = a.Manifest(t.Context(), "other", pushed.Digest.String())
			expect(t, err, NotFound)
			_, err = a.Blob(t.Context(), "team/image", Descriptor{Digest: digest.FromString("nothing")})
			expect(t, err, NotFound)
			_, err = a.Blob(t.Context(), "team/image", Descriptor{Digest: "sha256:../../secret"})
			expect(t, err, Malformed)
			// A push into an opened archive adds to its content.
			third := push(t, a, "team/image", "3.0.0", "third")
			all, err := a.Files()
			if err != nil {
				t.Fatal(err)
			}
			again, err := OpenArchive(all, ".")
			if err != nil {
				t.Fatal(err)
			}
			for tag, want := range map[string]digest.Digest{"1.0.0": pushed.Digest, "3.0.0": third.Digest} {
				if got, err := again.Manifest(t.Context(), "team/image", tag); err != nil || got.Digest != want {
					t.Errorf("%s: got %v, %v", tag, got, err)
				}
			}
		})
	}
}

func TestArchiveRefuses(t *testing.T) {
	written := NewArchive()
	pushed := push(t, written, "a", "1", "content")
	files, _ := written.Files()
	layer := layerOf(t, pushed)
	files[blobName(layer.Digest)] = []byte("c0ntent")
	a, err := OpenArchive(files, ".")
	if err != nil {
		t.Fatal(err)
	}
	_, err = readLayer(t.Context(), a, "a", layer)
	expect(t, err, WrongDigest, layer.Digest.String())
	for name, test := range map[string]struct {
		files fstest.MapFS
		class Class
		text  string
	}{
		"nothing":              {fstest.MapFS{}, NotFound, "the file does not exist"},
		"no archive":           {fstest.MapFS{"x": {Data: []byte("text")}}, Malformed, "neither a directory nor a tar archive"},
		"no index":             {fstest.MapFS{"x/blobs/y": {}}, Malformed, "file artifact-index.json is missing"},
		"an index that is odd": {fstest.MapFS{"x/artifact-index.json": {Data: []byte("[]")}}, Malformed, "not well-formed"},
		"another version":      {fstest.MapFS{"x/artifact-index.json": {Data: []byte(`{"schemaVersion":2}`)}}, Malformed, "schemaVersion 1"},
		"a large index":        {fstest.MapFS{"x/artifact-index.json": {Data: []byte(strings.Repeat(" ", maxIndexBytes+1))}}, TooLarge, ""},
		"a digest with a path": {fstest.MapFS{"x/artifact-index.json": {Data: []byte(`{"schemaVersion":1,"artifacts":[{"repository":"a","tag":"1","digest":"sha256:../../x"}]}`)}}, Malformed, "a digest is"},
	} {
		_, err := OpenArchive(test.files, "x")
		if ClassOf(err) != test.class || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
