// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var at = time.Unix(1_800_000_000, 0)

func content() []File {
	return []File{
		{Name: "tool", Mode: Program, Content: []byte("program")},
		{Name: "LICENSE", Mode: Text, Content: []byte("licence")},
		{Name: "tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777},
	}
}

// described returns an entry in the form for tests: mode, owner, time, name and content.
func described(mode int64, owner int, modified time.Time, name, content string) string {
	return fmt.Sprintf("%o %d %d %s %q", mode, owner, modified.Unix(), name, content)
}

func untar(t *testing.T, packed []byte) []string {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if !plain.ModTime.IsZero() || plain.Name != "" {
		t.Errorf("the compressed stream has the time %v and the name %q", plain.ModTime, plain.Name)
	}
	var found []string
	reader := tar.NewReader(plain)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		if header.Uname != "" || header.Gname != "" || header.Gid != 0 {
			t.Errorf("%s belongs to %q, %q, %d", header.Name, header.Uname, header.Gname, header.Gid)
		}
		found = append(found, described(header.Mode, header.Uid, header.ModTime, header.Name, string(text)))
	}
}

func TestTarGz(t *testing.T) {
	packed, err := TarGz(content(), at)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		described(0o644, 0, at, "LICENSE", "licence"),
		described(0o1777, 0, at, "tmp/", ""),
		described(0o755, 0, at, "tool", "program"),
	}
	if diff := cmp.Diff(want, untar(t, packed)); diff != "" {
		t.Error(diff)
	}
}

func TestTheOrderOfFilesDoesNotMatter(t *testing.T) {
	turned := content()
	slices.Reverse(turned)
	for name, pack := range map[string]func([]File, time.Time) ([]byte, error){"tar": Tar, "tar.gz": TarGz, "zip": Zip} {
		first, err := pack(content(), at)
		if err != nil {
			t.Fatal(err)
		}
		second, err := pack(turned, at.In(time.FixedZone("elsewhere", 7200)))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, second) {
			t.Errorf("%s: the same files give different bytes", name)
		}
		later, err := pack(content(), at.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(first, later) {
			t.Errorf("%s: the time is not in it", name)
		}
	}
}

func TestZip(t *testing.T) {
	packed, err := Zip(content()[:2], at)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range reader.File {
		opened, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(opened)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, described(int64(file.Mode().Perm()), 0, file.Modified, file.Name, string(text)))
	}
	want := []string{described(0o644, 0, at, "LICENSE", "licence"), described(0o755, 0, at, "tool", "program")}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
}

func TestRead(t *testing.T) {
	root := fstest.MapFS{
		"a/one.yaml": {Data: []byte("1"), Mode: 0o600}, "a/two.go": {Data: []byte("2")}, "b.yaml": {Data: []byte("3")},
		"link.yaml": {Data: []byte("a"), Mode: fs.ModeSymlink},
	}
	files, err := Read(root, func(name string) bool { return strings.HasSuffix(name, ".yaml") })
	if err != nil {
		t.Fatal(err)
	}
	want := []File{{Name: "a/one.yaml", Mode: Text, Content: []byte("1")}, {Name: "b.yaml", Mode: Text, Content: []byte("3")}}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Error(diff)
	}
}

// The sums equal those of sha256sum.
func TestChecksums(t *testing.T) {
	sums, err := Checksums(fstest.MapFS{"b.txt": {Data: []byte("hello\n")}, "a.txt": {}, "folder/c.txt": {Data: []byte("c")}})
	if err != nil {
		t.Fatal(err)
	}
	want := "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a.txt\n" +
		"5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03  b.txt\n"
	if sums != want {
		t.Errorf("got\n%s", sums)
	}
}
