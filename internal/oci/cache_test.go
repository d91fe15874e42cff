// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/opencontainers/go-digest"

	"espalier.dev/internal/testkit/registry"
)

func add(t testing.TB, c *Cache, content string) digest.Digest {
	t.Helper()
	of := digest.FromString(content)
	if err := c.add("s", of, strings.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	return of
}

func has(c *Cache, of digest.Digest) bool {
	file, _, err := c.open("s", of)
	if err == nil {
		_ = file.Close()
	}
	return err == nil
}

// age makes content look as if it was last used some time ago.
func age(t testing.TB, c *Cache, of digest.Digest, by time.Duration) {
	t.Helper()
	at := time.Now().Add(-by)
	if err := os.Chtimes(c.name("s", of), at, at); err != nil {
		t.Fatal(err)
	}
}

func TestLeastRecentlyUsedGoesFirst(t *testing.T) {
	c := newCache(t, 30)
	one, two, three := add(t, c, "1234567890"), add(t, c, "2345678901"), add(t, c, "3456789012")
	age(t, c, one, 3*time.Hour)
	age(t, c, two, 2*time.Hour)
	age(t, c, three, time.Hour)
	if !has(c, one) { // which is a use
		t.Fatal("it is not there")
	}
	four := add(t, c, "4567890123")
	for of, want := range map[digest.Digest]bool{one: true, two: false, three: true, four: true} {
		if has(c, of) != want {
			t.Errorf("%s is there: %v", of, !want)
		}
	}
	// Content larger than the whole cache is kept until more is added.
	large := add(t, c, strings.Repeat("x", 31))
	if !has(c, large) || has(c, one) || has(c, four) {
		t.Error("the new content is not the only one")
	}
}

func TestOnlyWholeContentIsKept(t *testing.T) {
	c := newCache(t, 1<<20)
	of := digest.FromString("content")
	broken := errors.New("broken")
	if err := c.add("s", of, io.MultiReader(strings.NewReader("cont"), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	expect(t, c.add("s", of, strings.NewReader("other")), WrongDigest, of.String())
	entries, err := os.ReadDir(c.directory)
	if err != nil || len(entries) != 1 || entries[0].Name() != keyFile {
		t.Errorf("there is %v, %v", entries, err)
	}
}

// Leftovers of dead processes are removed, unfinished files of others stay. Only their owner can read files.
func TestTheCacheIsPrivate(t *testing.T) {
	directory := t.TempDir()
	if err := os.Chmod(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenCache(directory, 100); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(directory); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v (%v), want 0700", info.Mode(), err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(directory, link); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenCache(link, 100); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("a link: %v", err)
	}
}

func TestLeftoversOfACrash(t *testing.T) {
	c := newCache(t, 1<<20)
	old, fresh := filepath.Join(c.directory, incomingPrefix+"1"), filepath.Join(c.directory, incomingPrefix+"2")
	for _, name := range []string{old, fresh} {
		if err := os.WriteFile(name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-2 * abandonedAfter)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenCache(c.directory, 1<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the leftover stays")
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Error(err)
	}
}

func TestProcessesShareADirectory(t *testing.T) {
	directory := t.TempDir()
	var running sync.WaitGroup
	caches := make([]*Cache, 8)
	for i := range caches {
		running.Go(func() {
			c, err := OpenCache(directory, 200)
			if err != nil {
				t.Error(err)
				return
			}
			caches[i] = c
			for j := range 50 {
				content := fmt.Sprint("content ", j%10)
				of := digest.FromString(content)
				if err := c.add("s", of, strings.NewReader(content)); err != nil {
					t.Error(err)
				}
				file, _, err := c.open("s", of)
				if errors.Is(err, fs.ErrNotExist) {
					continue // another goroutine has evicted it
				}
				if err != nil {
					t.Error(err)
					continue
				}
				if got := drain(t, verify(file, of, nil)); got != content {
					t.Errorf("got %q", got)
				}
			}
		})
	}
	running.Wait()
	for _, c := range caches[1:] {
		if c.scope([]byte("x")) != caches[0].scope([]byte("x")) {
			t.Error("they have different keys")
		}
	}
	if caches[0].scope([]byte("a"), []byte("b")) == caches[0].scope([]byte("ab"), nil) {
		t.Error("scopes do not tell apart")
	}
	// Half a key left by a crash is replaced.
	if err := os.WriteFile(filepath.Join(directory, keyFile), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := OpenCache(directory, 200); err != nil || len(c.secret) != 32 {
		t.Errorf("got %v", err)
	}
}

func TestDamagedContentIsFetchedAgain(t *testing.T) {
	server := started(t, registry.Options{})
	client := newClient(t)
	r := open(t, client, server.URL, Credential{})
	large := strings.Repeat("0123456789abcdef", smallBlob/16+1)
	for name, content := range map[string]string{"small": "content", "large": large} {
		layer := layerOf(t, push(t, r, "a", "1", content))
		read := func() (string, error) {
			blob, err := r.Blob(t.Context(), "a", layer)
			if err != nil {
				return "", err
			}
			defer func() { _ = blob.Close() }()
			data, err := io.ReadAll(blob)
			return string(data), err
		}
		if got, err := read(); err != nil || got != content {
			t.Fatalf("%s: got %d bytes, %v", name, len(got), err)
		}
		damaged := []byte(content)
		damaged[0] ^= 1
		if err := os.WriteFile(client.options.Cache.name(r.scope, layer.Digest), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := read()
		if name == "large" { // the end of a stream reports it, and the next read is right
			expect(t, err, WrongDigest)
			got, err = read()
		}
		if err != nil || got != content {
			t.Errorf("%s: got %d bytes, %v", name, len(got), err)
		}
	}
}
