// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/archive"
	"espalier.dev/internal/component"
	"espalier.dev/internal/failure"
)

func localComponent(name string) []byte {
	return []byte(written{name: name, version: "1.0.0", resources: `
		{name: txt, type: t, version: 1.0.0, access: {type: localFilesystemBlob, fileName: hello, mediaType: text/plain}},
		{name: old, type: t, version: 1.0.0, access: {type: localFilesystemBlob, filename: hello, mediaType: text/plain}},
		{name: digest, type: t, version: 1.0.0, access: {type: localBlob, localReference: "sha256:abc", mediaType: text/plain}},
		{name: dir, type: blueprint, version: 1.0.0, access: {type: localFilesystemBlob, fileName: /blueprint, mediaType: x}},
		{name: out, type: t, version: 1.0.0, access: {type: localBlob, localReference: ../secret}},
		{name: lost, type: t, version: 1.0.0, access: {type: localBlob, localReference: lost}},
		{name: relative, type: t, version: 1.0.0, access: {type: relativeOciReference, reference: "x:1"}}`}.text())
}

func blobs(below string) archive.Files {
	files := archive.Files{below + "hello": []byte("hello"), below + "sha256.abc": []byte("by digest")}
	for name, content := range blueprintFiles() {
		files[below+"blueprint/"+name] = content
	}
	return files
}

// treeOf returns files in the form of a repository context.
func treeOf(files archive.Files) map[string]any {
	root := map[string]any{}
	for name, content := range files {
		at := root
		parts := strings.Split(name, "/")
		for _, part := range parts[:len(parts)-1] {
			if at[part] == nil {
				at[part] = map[string]any{}
			}
			at = at[part].(map[string]any)
		}
		at[parts[len(parts)-1]] = string(content)
	}
	return root
}

func joinedFiles(all ...archive.Files) archive.Files {
	result := archive.Files{}
	for _, files := range all {
		for name, content := range files {
			result[name] = content
		}
	}
	return result
}

func TestDirectories(t *testing.T) {
	descriptors := archive.Files{"one.yaml": localComponent("example.org/a"), "two": localComponent("example.org/b")}
	inside := func(folder string, files archive.Files) archive.Files {
		result := archive.Files{}
		for name, content := range files {
			result[folder+name] = content
		}
		return result
	}
	for name, test := range map[string]struct {
		files  archive.Files
		fields map[string]any
	}{
		"local":      {joinedFiles(inside("r/", descriptors), blobs("r/blobs/")), map[string]any{"type": "local", "filePath": "/r"}},
		"local root": {joinedFiles(descriptors, blobs("blobs/")), map[string]any{"type": "local/v1"}},
		"one tree":   {nil, map[string]any{"type": "inline", "fileSystem": treeOf(joinedFiles(inside("c/", descriptors), blobs(""))), "compDescDirPath": "/c"}},
		"one tree with folders": {nil, map[string]any{
			"type": "inline/v1", "fileSystem": treeOf(joinedFiles(descriptors, blobs("b/"))), "blobDirPath": "b", "blobFsMode": "filesystem",
		}},
		"two trees":          {nil, map[string]any{"type": "inline", "fileSystem": treeOf(descriptors), "blobFs": treeOf(blobs(""))}},
		"blobs in directory": {blobs("x/y/"), map[string]any{"type": "inline", "fileSystem": treeOf(descriptors), "blobFsMode": "context", "blobDirPath": "/x/y"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(Options{Files: test.files})
			if test.files == nil {
				r = New(Options{})
			}
			at := component.Coordinates{RepositoryContext: contextOf(t, test.fields), Name: "example.org/b", Version: "1.0.0"}
			for name, want := range map[string]string{"txt": "hello", "old": "hello", "digest": "by digest"} {
				if got, err := read(t.Context(), t, r, at, name); err != nil || string(got.Data) != want || got.MediaType != "text/plain" {
					t.Errorf("%s: got %q, %v", name, got.Data, err)
				}
			}
			files, err := r.Blueprint(t.Context(), at, resource(t, r, at, "dir"))
			if diff := cmp.Diff(blueprintFiles(), files); diff != "" || err != nil {
				t.Errorf("%s %v", diff, err)
			}
			packed, err := read(t.Context(), t, r, at, "dir")
			if err != nil || packed.MediaType != mediaTypeTar || !cmp.Equal(packed.Data, tarOf(t, blueprintFiles())) {
				t.Errorf("got %d bytes of %s, %v", len(packed.Data), packed.MediaType, err)
			}
			chart, err := r.Chart(t.Context(), at, resource(t, r, at, "dir"))
			if err != nil || !archive.IsGzip(chart) {
				t.Errorf("got %v", err)
			}
			for _, name := range []string{"out", "lost"} {
				_, err := read(t.Context(), t, r, at, name)
				wantMissing(t, name, err, "the blob is not in the directory")
			}
			_, err = read(t.Context(), t, r, at, "relative")
			wantError(t, "relative", err, failure.Terminal, "a component in a registry or archive")
			at.Version = "2.0.0"
			_, err = r.Descriptor(t.Context(), at)
			wantMissing(t, "another version", err, "component example.org/b:2.0.0 was not found")
		})
	}
}

func TestBrokenDirectories(t *testing.T) {
	at := component.Coordinates{RepositoryContext: contextOf(t, map[string]any{"type": "local", "filePath": "r"}), Name: "example.org/a", Version: "1.0.0"}
	_, err := New(Options{Files: archive.Files{"r/a": localComponent("example.org/a"), "r/README.md": []byte("text")}}).Descriptor(t.Context(), at)
	wantError(t, "a file that is none", err, failure.Terminal, "README.md: component descriptor")
	_, err = New(Options{Files: archive.Files{"other": nil}}).Descriptor(t.Context(), at)
	wantMissing(t, "no directory", err, "does not exist")
	deep := map[string]any{"f": "x"}
	for range maxTreeDepth + 1 {
		deep = map[string]any{"d": deep}
	}
	for name, fields := range map[string]map[string]any{"nested deeper": deep, "more than": {"f": strings.Repeat("x", maxTreeBytes+1)}} {
		at.RepositoryContext = contextOf(t, map[string]any{"type": "inline", "fileSystem": fields})
		_, err := New(Options{}).Descriptor(t.Context(), at)
		wantError(t, name, err, failure.Terminal, name)
	}
}
