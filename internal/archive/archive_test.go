// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// entry is an entry of an archive: a file, unless the header says otherwise.
type entry struct {
	tar.Header
	content string
}

func file(name, content string) entry {
	return entry{Header: tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644}, content: content}
}

func directory(name string) entry {
	return entry{Header: tar.Header{Name: name, Typeflag: tar.TypeDir}}
}

func pack(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, e := range entries {
		if e.Typeflag == tar.TypeReg {
			e.Size = int64(len(e.content))
		}
		if err := w.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	packed, err := Gzip(data)
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

// sparse returns a small archive of a file that consists of a hole of 1 TiB. The library does not write such archives, so the records get
// their names afterwards.
func sparse(t testing.TB) []byte {
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

func TestRead(t *testing.T) {
	global := entry{Header: tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "a commit"}}}
	data := pack(t, global, directory("./"), file("./blueprint.yaml", "a"), directory("deep"), directory("deep/"), file("/deep/b", "c"), file(".///x", ""))
	want := Files{"blueprint.yaml": []byte("a"), "deep/b": []byte("c"), "x": {}}
	padded := append(bytes.Clone(data), make([]byte, 10240)...)
	for name, data := range map[string][]byte{
		"plain": data, "gzip": zipped(t, data), "padded": padded, "padded gzip": zipped(t, padded),
		"two streams of gzip": append(zipped(t, data[:700]), zipped(t, data[700:])...),
	} {
		files, err := Read(bytes.NewReader(data), Default)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, files); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if err := fstest.TestFS(want, "blueprint.yaml", "deep/b", "x"); err != nil {
		t.Error(err)
	}
}

func TestReadRefuses(t *testing.T) {
	plain := pack(t, file("a", strings.Repeat("x", 2000)))
	typed := func(flag byte) []byte {
		return pack(t, entry{Header: tar.Header{Name: "a", Typeflag: flag, Linkname: "b"}})
	}
	twice := append(bytes.Clone(plain), plain...)
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"a way out":                {pack(t, file("../b", "")), `"../b": the name leads out of its directory`},
		"a way out further down":   {pack(t, file("a/../../b", "")), "leads out"},
		"a way out and back":       {pack(t, file("/./../b", "")), "leads out"},
		"a directory that is out":  {pack(t, directory("..")), "leads out"},
		"a path of other systems":  {pack(t, file(`..\b`, "")), "not a clean path"},
		"a path that is not clean": {pack(t, file("a//b", "")), "not a clean path"},
		"no name":                  {pack(t, file("./.", "")), "a file needs a name"},
		"a symbolic link":          {typed(tar.TypeSymlink), "no links or devices"},
		"a hard link":              {typed(tar.TypeLink), "no links or devices"},
		"a character device":       {typed(tar.TypeChar), "no links or devices"},
		"a block device":           {typed(tar.TypeBlock), "no links or devices"},
		"a pipe":                   {typed(tar.TypeFifo), "no links or devices"},
		"a hole":                   {sparse(t), "the file has 1099511627776 bytes"},
		"a file twice":             {pack(t, file("a", "1"), file("./a", "2")), `"./a": it occurs twice`},
		"a file and a directory":   {pack(t, directory("a"), file("a", "2")), "it occurs twice"},
		"a file below a file":      {pack(t, file("a", "1"), file("a/b", "2")), `"a" is a file already`},
		"a directory over a file":  {pack(t, file("a", "1"), directory("a/b/c")), `"a" is a file already`},
		"too deep":                 {pack(t, file(strings.Repeat("d/", 65)+"f", "")), "more than 64 directories"},
		"nothing that unpacks":     {[]byte("\x1f\x8bnothing"), "decompress"},
		"cut off in a file":        {plain[:1024], "it is cut off"},
		"cut off in a header":      {plain[:300], "it is cut off"},
		"gzip that is cut off":     {zipped(t, plain)[:40], "it is cut off"},
		"gzip without its sum":     {zipped(t, plain)[:len(zipped(t, plain))-8], "it is cut off"},
		"gzip with a wrong sum":    {append(zipped(t, plain)[:len(zipped(t, plain))-8], "12345678"...), "gzip: invalid checksum"},
		"garbage at the end":       {append(bytes.Clone(plain), "garbage"...), "data after the end"},
		"garbage within gzip":      {zipped(t, append(bytes.Clone(plain), "garbage"...)), "data after the end"},
		"garbage behind gzip":      {append(zipped(t, plain), "garbage that is long enough"...), "gzip: invalid header"},
		"a second archive":         {twice, "data after the end"},
		"no archive":               {[]byte(strings.Repeat("blueprint", 100)), "invalid tar header"},
	} {
		files, err := Read(bytes.NewReader(test.data), Default)
		if err == nil || !strings.Contains(err.Error(), test.want) || files != nil {
			t.Errorf("%s: got %d files, %v", name, len(files), err)
		}
	}
}

// Limits apply to the uncompressed archive, wherever its bytes are.
func TestReadIsBounded(t *testing.T) {
	limits := Limits{Bytes: 8 << 10, FileBytes: 6 << 10, Entries: 12, Depth: 3}
	half := strings.Repeat("\x00", 4<<10)
	for name, test := range map[string]struct {
		entries []entry
		want    string
	}{
		"what fits":            {[]entry{file("a", half), file("b/c/d/e", "")}, ""},
		"a large file":         {[]entry{file("a", half+half[:2049])}, "a file may have 6144"},
		"large files":          {[]entry{file("a", half), file("b", half+"\x00")}, "all of them together 8192"},
		"no room for headers":  {[]entry{file("a", half), file("b", half)}, "more than 8192 bytes"},
		"too many entries":     {[]entry{file("1", ""), file("2", ""), directory("3"), directory("3"), directory("3"), directory("3"), directory("3"), directory("3"), directory("3"), directory("3"), directory("3"), directory("3"), directory("3")}, "more than 12 files"},
		"too many directories": {[]entry{file("a/b/c/d/e", "")}, "more than 3 directories"},
	} {
		for _, data := range [][]byte{pack(t, test.entries...), zipped(t, pack(t, test.entries...))} {
			_, err := Read(bytes.NewReader(data), limits)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	}
}

func TestManyTinyFiles(t *testing.T) {
	entries := make([]entry, 100_000)
	for i := range entries {
		entries[i] = file(fmt.Sprint("f", i), "")
	}
	source := &counter{Reader: bytes.NewReader(zipped(t, pack(t, entries...)))}
	total := source.Reader.(*bytes.Reader).Size()
	_, err := Read(source, Limits{Bytes: 1 << 30, FileBytes: 1 << 20, Entries: 10_000, Depth: 1})
	if err == nil || !strings.Contains(err.Error(), "more than 10000 files") {
		t.Errorf("got %v", err)
	}
	if source.bytes > total/5 {
		t.Errorf("%d bytes of %d were read", source.bytes, total)
	}
}

// bomb returns an endless stream of zeros in gzip.
func bomb(t testing.TB) io.Reader {
	t.Helper()
	reader, writer := io.Pipe()
	go func() {
		packed := gzip.NewWriter(writer)
		zeros := make([]byte, 1<<20)
		for {
			if _, err := packed.Write(zeros); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { _ = reader.Close() })
	return reader
}

func TestBombsStopEarly(t *testing.T) {
	for name, test := range map[string]struct {
		limits Limits
		want   string
	}{
		"by ratio": {Limits{Bytes: 1 << 40, FileBytes: 1 << 40, Entries: 10, Depth: 1}, "250 times as large"},
		"by size":  {Limits{Bytes: 64 << 10, FileBytes: 1 << 40, Entries: 10, Depth: 1}, "more than 65536 bytes"},
	} {
		source := &counter{Reader: bomb(t)}
		// Zeros are the end of an archive, so a bomb of zeros is padding.
		_, err := Read(source, test.limits)
		if !errors.Is(err, errTooLarge) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v", name, err)
		}
		if source.bytes > 64<<10 {
			t.Errorf("%s: %d packed bytes were read", name, source.bytes)
		}
	}
	packed := zipped(t, make([]byte, 2<<20))
	if _, err := Gunzip(packed, 1<<30); !errors.Is(err, errTooLarge) {
		t.Errorf("got %v", err)
	}
	if plain, err := Gunzip(zipped(t, []byte("text")), 4); err != nil || string(plain) != "text" {
		t.Errorf("got %q, %v", plain, err)
	}
	if _, err := Gunzip(zipped(t, []byte("texts")), 4); !errors.Is(err, errTooLarge) {
		t.Errorf("got %v", err)
	}
	if plain, err := Gunzip([]byte("texts"), 4); err != nil || string(plain) != "texts" {
		t.Errorf("got %q, %v", plain, err)
	}
}

func TestWriting(t *testing.T) {
	files := Files{"b": []byte("2"), "a/b": []byte("1"), "a/" + strings.Repeat("long", 40): []byte("3")}
	first, err := Tar(files)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := Tar(files)
	if !bytes.Equal(first, again) || !bytes.Equal(zipped(t, first), zipped(t, again)) {
		t.Error("the same files give different bytes")
	}
	read, err := Read(bytes.NewReader(zipped(t, first)), Default)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files, read); diff != "" {
		t.Error(diff)
	}
	if _, err := Tar(Files{"../a": nil}); err == nil {
		t.Error("a name that leads out was written")
	}
}

func TestBelow(t *testing.T) {
	files := Files{"a/b": nil, "a/c/d": nil, "ab/x": nil, "b": nil}
	if diff := cmp.Diff(Files{"b": nil, "c/d": nil}, files.Below("./a/")); diff != "" {
		t.Error(diff)
	}
	if below := files.Below("b"); below != nil {
		t.Errorf("a file has files below it: %v", below)
	}
	if diff := cmp.Diff(files, files.Below("")); diff != "" {
		t.Error(diff)
	}
	if _, err := fs.Stat(files, "nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(pack(f, file("a", "b")))
	f.Add(zipped(f, pack(f, file("a/b", "c"), directory("x"))))
	f.Add(sparse(f))
	limits := Limits{Bytes: 64 << 10, FileBytes: 16 << 10, Entries: 20, Depth: 4}
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := Read(bytes.NewReader(data), limits)
		if err != nil {
			return
		}
		total := 0
		for name, content := range files {
			if total += len(content); !fs.ValidPath(name) {
				t.Errorf("%q was accepted", name)
			}
		}
		if int64(total) > limits.Bytes || len(files) > limits.Entries {
			t.Errorf("%d bytes in %d files", total, len(files))
		}
	})
}
