// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
)

const (
	keyFile        = "key"
	incomingPrefix = ".incoming-"
	// abandonedAfter is the age at which an unfinished file counts as left behind by a dead process.
	abandonedAfter = time.Hour
	// freshUse is how old the recorded time of the last use may be before it is updated.
	freshUse = time.Minute
)

// Cache stores content on disk, by the credentials that may read it and by its digest. Several processes may share a directory: a file
// appears under its name only when it is complete, and may vanish at any time without affecting its current readers.
//
// Its size is limited; the least recently used content is evicted first. Leftovers of a crash are either not visible under their name, or
// detected by their digest when they are read.
type Cache struct {
	directory string
	limit     int64
	secret    []byte
}

// OpenCache uses a directory as a cache with a maximum size in bytes, and creates it if necessary. It must contain nothing else, and no
// other user may read it, because it contains content that was fetched with credentials.
func OpenCache(directory string, limit int64) (*Cache, error) {
	if err := makePrivate(directory); err != nil {
		return nil, fmt.Errorf("create the directory of the content cache: %w", err)
	}
	c := &Cache{directory: directory, limit: limit}
	if err := c.readSecret(); err != nil {
		return nil, fmt.Errorf("open the content cache: %w", err)
	}
	return c, c.evict("")
}

func makePrivate(directory string) error {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(directory)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is a link: use the directory itself", directory)
	}
	// Only the owner can do this, so a directory that another user has put there is rejected.
	return os.Chmod(directory, 0o700)
}

// readSecret reads the key of the cache, or creates one. The key prevents tests of guessed passwords against file names.
func (c *Cache) readSecret() error {
	name := filepath.Join(c.directory, keyFile)
	for range 3 {
		secret, err := os.ReadFile(name)
		if err == nil && len(secret) == sha256.Size {
			c.secret = secret
			return nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil { // a crash left an incomplete key
			_ = os.Remove(name)
		}
		fresh := make([]byte, sha256.Size)
		_, _ = rand.Read(fresh)
		incoming, err := c.write(bytes.NewReader(fresh))
		if err != nil {
			return err
		}
		// The link fails if another process was faster; then its key is used.
		err = os.Link(incoming, name)
		_ = os.Remove(incoming)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return errors.New("its key cannot be computed")
}

// scope returns a name for the source and the credentials of a read, without revealing them.
func (c *Cache) scope(parts ...[]byte) string {
	hash := hmac.New(sha256.New, c.secret)
	for _, part := range parts {
		_, _ = fmt.Fprintf(hash, "%d:", len(part))
		hash.Write(part)
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

func (c *Cache) name(scope string, of digest.Digest) string {
	return filepath.Join(c.directory, scope+"-"+of.Algorithm().String()+"-"+of.Encoded())
}

// open returns the content of a digest, which the caller must still verify, or an error that is fs.ErrNotExist.
func (c *Cache) open(scope string, of digest.Digest) (*os.File, int64, error) {
	name := c.name(scope, of)
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, 0, err
	}
	if now := time.Now(); now.Sub(info.ModTime()) > freshUse {
		_ = os.Chtimes(name, now, now)
	}
	return file, info.Size(), nil
}

// remove removes the content of a digest.
func (c *Cache) remove(scope string, of digest.Digest) { _ = os.Remove(c.name(scope, of)) }

// add stores content under its digest, which it must have.
func (c *Cache) add(scope string, of digest.Digest, content io.Reader) error {
	digester := of.Algorithm().Digester()
	incoming, err := c.write(io.TeeReader(content, digester.Hash()))
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(incoming) }()
	if got := digester.Digest(); got != of {
		return wrongDigest(of.String(), got.String())
	}
	name := c.name(scope, of)
	if err := os.Rename(incoming, name); err != nil {
		return fmt.Errorf("store content in the cache: %w", err)
	}
	return c.evict(filepath.Base(name))
}

// write writes the content to a temporary file.
func (c *Cache) write(content io.Reader) (name string, err error) {
	file, err := os.CreateTemp(c.directory, incomingPrefix+"*")
	if err != nil {
		return "", fmt.Errorf("write into the content cache: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	if _, err = io.Copy(file, content); err == nil {
		err = file.Sync()
	}
	return file.Name(), errors.Join(err, file.Close())
}

// evict removes the least recently used content until the rest fits, but never the file keep.
func (c *Cache) evict(keep string) error {
	entries, err := os.ReadDir(c.directory)
	if err != nil {
		return fmt.Errorf("scan the content cache: %w", err)
	}
	var files []fs.FileInfo
	var total int64
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || info.Name() == keyFile {
			continue // another process has removed it
		}
		if strings.HasPrefix(info.Name(), incomingPrefix) {
			c.removeAbandoned(info)
			continue
		}
		files = append(files, info)
		total += info.Size()
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	for _, info := range files {
		if total <= c.limit {
			return nil
		}
		if info.Name() != keep {
			_ = os.Remove(filepath.Join(c.directory, info.Name()))
			total -= info.Size()
		}
	}
	return nil
}

func (c *Cache) removeAbandoned(info fs.FileInfo) {
	if time.Since(info.ModTime()) > abandonedAfter {
		_ = os.Remove(filepath.Join(c.directory, info.Name()))
	}
}
