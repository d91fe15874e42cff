// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"sync"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// DefaultCacheBytes is a size for the cache of a process that serves some hundred blueprints.
const DefaultCacheBytes = 64 << 20

// compiledFactor is how much larger a compiled template is than its text, roughly and rather too much.
const compiledFactor = 8

// entryOverhead is added to the size of a blueprint for what every entry needs.
const entryOverhead = 4 << 10

type digest [sha256.Size]byte

// cache keeps parsed blueprints by the content of their directories. The least recently used one goes first. It is safe
// for concurrent use. Blueprints that cannot be parsed are not kept.
type cache struct {
	limit int

	mutex   sync.Mutex
	bytes   int
	entries map[digest]*list.Element
	recent  *list.List
}

type cacheEntry struct {
	key       digest
	bytes     int
	blueprint *Blueprint
}

func newCache(limit int) *cache {
	return &cache{limit: limit, entries: map[digest]*list.Element{}, recent: list.New()}
}

func (c *cache) find(key digest) *Blueprint {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	element, found := c.entries[key]
	if !found {
		return nil
	}
	c.recent.MoveToFront(element)
	return element.Value.(*cacheEntry).blueprint
}

// add keeps a blueprint, and returns the one that is kept: another one if that was quicker.
func (c *cache) add(key digest, b *Blueprint) *Blueprint {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if element, found := c.entries[key]; found {
		return element.Value.(*cacheEntry).blueprint
	}
	e := &cacheEntry{key: key, bytes: b.Files.bytes()*compiledFactor + entryOverhead, blueprint: b}
	if e.bytes > c.limit {
		return b
	}
	c.entries[key] = c.recent.PushFront(e)
	c.bytes += e.bytes
	for c.bytes > c.limit {
		oldest := c.recent.Remove(c.recent.Back()).(*cacheEntry)
		delete(c.entries, oldest.key)
		c.bytes -= oldest.bytes
	}
	return b
}

func (f Files) bytes() int {
	total := 0
	for name, content := range f {
		total += len(name) + len(content)
	}
	return total
}

// digest covers the names and contents of all files.
func (f Files) digest() digest {
	hash := sha256.New()
	write := func(part []byte) {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		hash.Write(length[:])
		hash.Write(part)
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		write([]byte(name))
		write(f[name])
	}
	return digest(hash.Sum(nil))
}

// Parse is the function Parse with a memory: a blueprint whose files were seen before is not parsed again. The files must
// not be changed afterwards.
func (e *Engine) Parse(files Files) (*Blueprint, error) {
	return e.remembered(files.digest(), func() (*Blueprint, error) { return Parse(files) })
}

// ParseInline reads the blueprint in a directory that is written as a tree, or remembers it.
func (e *Engine) ParseInline(tree lsv1alpha1.AnyJSON) (*Blueprint, error) {
	// The prefix keeps a tree apart from the files of a directory.
	key := digest(sha256.Sum256(append([]byte("inline "), tree.Raw...)))
	return e.remembered(key, func() (*Blueprint, error) {
		files, err := InlineFiles(tree)
		if err != nil {
			return nil, invalid(err)
		}
		return Parse(files)
	})
}

func (e *Engine) remembered(key digest, parse func() (*Blueprint, error)) (*Blueprint, error) {
	if known := e.blueprints.find(key); known != nil {
		return known, nil
	}
	b, err := parse()
	if err != nil {
		return nil, err
	}
	return e.blueprints.add(key, b), nil
}
