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
	// abandonedAfter is the age at which an unfinished file counts as left behind by a process that has died.
	abandonedAfter = time.Hour
	// freshUse is how old the time of the last use may be before it is renewed.
	freshUse = time.Minute
)

// Cache keeps content on disk, by who may read it and by its digest. Several processes may share a directory: a file appears
// whole, by its name alone, and may vanish at any time, which those who are reading it do not notice.
//
// It holds a number of bytes at the most; the least recently used content goes first. What a crash leaves behind is either
// not visible under its name, or found out by its digest when it is read.
type Cache struct {
	directory string
	limit     int64
	secret    []byte
}

// OpenCache uses a directory, which it makes, as a cache of a number of bytes. Nothing else may be in it, and nobody else may read it: it
// has what only holders of credentials could fetch.
func OpenCache(directory string, limit int64) (*Cache, error) {
	if err := makePrivate(directory); err != nil {
		return nil, fmt.Errorf("make the directory of the content cache: %w", err)
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
		return fmt.Errorf("%s is a link: name the directory itself", directory)
	}
	// Only its owner can do this, so a directory that another user has put there is refused.
	return os.Chmod(directory, 0o700)
}

// readSecret reads the key of the cache, or makes one. It keeps names of files from being a test for guessed passwords.
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
		if err == nil { // a crash has left half a key
			_ = os.Remove(name)
		}
		fresh := make([]byte, sha256.Size)
		_, _ = rand.Read(fresh)
		incoming, err := c.write(bytes.NewReader(fresh))
		if err != nil {
			return err
		}
		// A link fails if somebody else was quicker, whose key then counts.
		err = os.Link(incoming, name)
		_ = os.Remove(incoming)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return errors.New("its key cannot be made")
}

// scope stands for who reads what from where, without giving it away.
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

// open returns the content of a digest, which still has to be compared with it, or an error that is fs.ErrNotExist.
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

// remove forgets the content of a digest.
func (c *Cache) remove(scope string, of digest.Digest) { _ = os.Remove(c.name(scope, of)) }

// add keeps content under its digest, which it must have.
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
		return fmt.Errorf("keep content in the cache: %w", err)
	}
	return c.evict(filepath.Base(name))
}

// write writes a file that nobody knows yet.
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

// evict removes what was used least recently until the rest fits, but never the file that is named.
func (c *Cache) evict(keep string) error {
	entries, err := os.ReadDir(c.directory)
	if err != nil {
		return fmt.Errorf("look through the content cache: %w", err)
	}
	var files []fs.FileInfo
	var total int64
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || info.Name() == keyFile {
			continue // somebody else has removed it
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
