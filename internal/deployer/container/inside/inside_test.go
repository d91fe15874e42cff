// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inside_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"espalier.dev/internal/deployer/container/inside"
)

func open(t *testing.T, folder string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

func put(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestPackKeepsEverything(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	put(t, filepath.Join(from, "a"), "")
	put(t, filepath.Join(from, "deep", "er", "b"), strings.Repeat("\x00", 3000)+"x\x00")
	if err := os.Mkdir(filepath.Join(from, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../secret", filepath.Join(from, "link")); err != nil {
		t.Fatal(err)
	}
	packed, err := inside.Pack(open(t, from), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := inside.Unpack(bytes.NewReader(packed), open(t, to), false); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "deep/er/b"} {
		want, _ := os.ReadFile(filepath.Join(from, name))
		got, err := os.ReadFile(filepath.Join(to, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if link, err := os.Readlink(filepath.Join(to, "link")); err != nil || link != "../secret" {
		t.Errorf("the link is %q, %v", link, err)
	}
	if info, err := os.Stat(filepath.Join(to, "empty")); err != nil || !info.IsDir() {
		t.Error(err)
	}
}

func TestPackOfNothing(t *testing.T) {
	if packed, err := inside.Pack(open(t, t.TempDir()), 1<<20); packed != nil || err != nil {
		t.Errorf("got %d bytes, %v", len(packed), err)
	}
}

func TestPackIsBounded(t *testing.T) {
	folder := t.TempDir()
	put(t, filepath.Join(folder, "a"), strings.Repeat("0123456789abcdef", 1000))
	if _, err := inside.Pack(open(t, folder), 64); !errors.Is(err, inside.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

// Earlier controllers truncated archives, or appended bytes.
func TestUnpackOfDamagedArchives(t *testing.T) {
	folder := t.TempDir()
	put(t, filepath.Join(folder, "a"), "content")
	packed, err := inside.Pack(open(t, folder), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"whole":        packed,
		"no end":       packed[:len(packed)-8],
		"garbage":      append(bytes.Clone(packed), "garbage"...),
		"less trailer": bytes.TrimRight(packed, "\x00"),
	} {
		to := t.TempDir()
		if err := inside.Unpack(bytes.NewReader(data), open(t, to), true); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := os.ReadFile(filepath.Join(to, "a")); err != nil || string(got) != "content" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if err := inside.Unpack(bytes.NewReader(packed[:20]), open(t, t.TempDir()), false); err == nil {
		t.Error("half an archive is taken for a whole one")
	}
}

// An archive cannot write outside its directory, neither by its names nor through links that it contains.
func TestUnpackStaysInside(t *testing.T) {
	for name, headers := range map[string][]tar.Header{
		"a name":          {{Name: "../escaped", Typeflag: tar.TypeReg, Mode: 0o600}},
		"a link":          {{Name: "out", Typeflag: tar.TypeSymlink, Linkname: ".."}, {Name: "out/escaped", Typeflag: tar.TypeReg, Mode: 0o600}},
		"a linked file":   {{Name: "out", Typeflag: tar.TypeSymlink, Linkname: "../escaped"}, {Name: "out", Typeflag: tar.TypeReg, Mode: 0o600}},
		"an absolute one": {{Name: "/escaped", Typeflag: tar.TypeReg, Mode: 0o600}},
	} {
		var buffer bytes.Buffer
		zipped := gzip.NewWriter(&buffer)
		archive := tar.NewWriter(zipped)
		for _, header := range headers {
			if err := archive.WriteHeader(&header); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
			t.Fatal(err)
		}
		outside := t.TempDir()
		into := filepath.Join(outside, "into")
		if err := os.Mkdir(into, 0o700); err != nil {
			t.Fatal(err)
		}
		err := inside.Unpack(&buffer, open(t, into), false)
		if _, found := os.Stat(filepath.Join(outside, "escaped")); !os.IsNotExist(found) || err == nil {
			t.Errorf("%s: escaped (%v)", name, err)
		}
	}
}

// environment returns the environment of a pod, with directories of the test.
func environment(values map[string]string) inside.Environment {
	return func(name string) string { return values[name] }
}

func TestInitRefusesADamagedState(t *testing.T) {
	shared, input, folder := t.TempDir(), t.TempDir(), t.TempDir()
	put(t, filepath.Join(folder, "imports", "import.json"), "{}")
	bundle, err := inside.Pack(open(t, folder), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(input, inside.BundleFolder, inside.PieceName(0)), string(bundle[:10]))
	put(t, filepath.Join(input, inside.BundleFolder, inside.PieceName(1)), string(bundle[10:]))
	put(t, filepath.Join(input, inside.StateFolderIn, inside.PieceName(0)), string(bundle))
	env := map[string]string{inside.EnvShared: shared, inside.EnvInput: input, inside.EnvStateSum: inside.Sum(bundle)}
	if err := inside.Init(environment(env)); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(shared, inside.StateFolder, "imports", "import.json")); err != nil || string(got) != "{}" {
		t.Errorf("the state is %q, %v", got, err)
	}
	env[inside.EnvStateSum] = inside.Sum(nil)
	if err := inside.Init(environment(env)); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("got %v", err)
	}
	if err := inside.Init(environment(map[string]string{inside.EnvShared: t.TempDir(), inside.EnvInput: t.TempDir()})); err == nil {
		t.Error("without input there is nothing to run with")
	}
}

func TestParseState(t *testing.T) {
	want := inside.State{Prefix: "p", Pieces: 3, Sum: inside.Sum([]byte("x"))}
	if got, ok := inside.ParseState(want.String()); !ok || got != want {
		t.Errorf("got %+v, %v", got, ok)
	}
	for _, text := range []string{"", "a/b/c", "p/0/" + want.Sum, "p/99/" + want.Sum, "p/1/XX", "../x/1/" + want.Sum} {
		if got, ok := inside.ParseState(text); ok {
			t.Errorf("%q is %+v", text, got)
		}
	}
}
