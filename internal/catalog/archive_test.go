// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"slices"
	"strings"
	"testing"

	"espalier.dev/internal/failure"
)

// entry is an entry of an archive: a file, unless the header says otherwise.
type entry struct {
	tar.Header
	content string
}

func file(name, content string) entry {
	return entry{Header: tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644}, content: content}
}

func pack(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, e := range entries {
		e.Size = int64(len(e.content))
		if err := w.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

func compress(t *testing.T, data []byte) []byte {
	t.Helper()
	var buffer bytes.Buffer
	w := gzip.NewWriter(&buffer)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

// sparse is a small archive of a file that consists of a hole of 1 TiB. The library writes no such archives, so the
// records get their names afterwards.
func sparse(t *testing.T) []byte {
	t.Helper()
	e := file("hole", "1\n1099511627776\n0\n"+strings.Repeat("\x00", 512-18))
	e.PAXRecords = map[string]string{
		"XNU.sparse.major":    "1",
		"XNU.sparse.minor":    "0",
		"XNU.sparse.name":     "hole",
		"XNU.sparse.realsize": "1099511627776",
	}
	return bytes.ReplaceAll(pack(t, e), []byte("XNU.sparse."), []byte("GNU.sparse."))
}

func TestUnpack(t *testing.T) {
	data := pack(t, entry{Header: tar.Header{Name: "./", Typeflag: tar.TypeDir}}, file("./blueprint.yaml", "a"), file("/deep/b", "c"))
	for name, data := range map[string][]byte{"plain": data, "compressed": compress(t, data)} {
		files, err := Unpack(data)
		if err != nil || string(files["blueprint.yaml"]) != "a" || string(files["deep/b"]) != "c" || len(files) != 2 {
			t.Errorf("%s: %v, %v", name, files, err)
		}
	}
}

func TestUnpackRefuses(t *testing.T) {
	link := entry{Header: tar.Header{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "/"}}
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"a way out":                  {pack(t, file("a/../../b", "")), "leads out of the blueprint"},
		"a link":                     {pack(t, link), "no links or devices"},
		"a hole":                     {sparse(t), "hole: it and the files before it are too large"},
		"what is not compressed":     {[]byte("\x1f\x8bnothing"), "unpack the blueprint"},
		"an archive that is cut off": {pack(t, file("a", strings.Repeat("x", 2000)))[:1024], "unexpected EOF"},
	} {
		files, err := Unpack(test.data)
		if err == nil || !strings.Contains(err.Error(), test.want) || files != nil {
			t.Errorf("%s: got %d files, %v", name, len(files), err)
		}
		if failure.KindOf(err) != failure.Terminal {
			t.Errorf("%s: the error is %s", name, failure.KindOf(err))
		}
	}
}

// An archive is measured as it is when it is no longer compressed.
func TestUnpackIsBounded(t *testing.T) {
	const most = 8 << 10
	half := strings.Repeat("\x00", most/2)
	directory := entry{Header: tar.Header{Name: "d/", Typeflag: tar.TypeDir}}
	for name, test := range map[string]struct {
		entries []entry
		want    string
	}{
		"what fits":         {[]entry{file("a", half)}, ""},
		"a large file":      {[]entry{file("a", half+half+"\x00")}, "a: it and the files before it are too large"},
		"large files":       {[]entry{file("a", half), file("b", half+"\x00")}, "b: it and the files before it are too large"},
		"no room for heads": {[]entry{file("a", half), file("b", half)}, "has more than 8192 bytes"},
		"many directories":  {slices.Repeat([]entry{directory}, most/512+1), "has more than 8192 bytes"},
	} {
		_, err := unpack(compress(t, pack(t, test.entries...)), most)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
