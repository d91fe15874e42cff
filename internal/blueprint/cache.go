// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"bytes"
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"sync"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/template"
	"espalier.dev/internal/template/spiff"
)

// Sizes for the caches of a process that serves some hundred blueprints and some thousand installations.
const (
	blueprintCacheBytes  = 64 << 20
	mappingCacheBytes    = 16 << 20
	descriptorCacheBytes = 16 << 20
)

// compiledFactor is how much larger a compiled template is than its text, roughly and rather too much.
const compiledFactor = 8

// entryOverhead is added to the size of a value for what every entry needs.
const entryOverhead = 4 << 10

type digest [sha256.Size]byte

// cache keeps values by the content that they were made from. The least recently used one goes first. It is safe for
// concurrent use, and so must the values be. What cannot be created is not kept.
type cache[T any] struct {
	limit int

	mutex   sync.Mutex
	bytes   int
	entries map[digest]*list.Element
	recent  *list.List
}

type cacheEntry[T any] struct {
	key   digest
	bytes int
	value T
}

func newCache[T any](limit int) *cache[T] {
	return &cache[T]{limit: limit, entries: map[digest]*list.Element{}, recent: list.New()}
}

// get returns the value of a key. One that is not known is created, together with its size in bytes.
func (c *cache[T]) get(key digest, create func() (T, int, error)) (T, error) {
	if known, found := c.find(key); found {
		return known, nil
	}
	value, size, err := create()
	if err != nil {
		var none T
		return none, err
	}
	return c.add(&cacheEntry[T]{key: key, bytes: size + entryOverhead, value: value}), nil
}

func (c *cache[T]) find(key digest) (value T, found bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	element, found := c.entries[key]
	if !found {
		return value, false
	}
	c.recent.MoveToFront(element)
	return element.Value.(*cacheEntry[T]).value, true
}

// add keeps a value, and returns the one that is kept: another one if that was quicker.
func (c *cache[T]) add(e *cacheEntry[T]) T {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if element, found := c.entries[e.key]; found {
		return element.Value.(*cacheEntry[T]).value
	}
	if e.bytes > c.limit {
		return e.value
	}
	c.entries[e.key] = c.recent.PushFront(e)
	c.bytes += e.bytes
	for c.bytes > c.limit {
		oldest := c.recent.Remove(c.recent.Back()).(*cacheEntry[T])
		delete(c.entries, oldest.key)
		c.bytes -= oldest.bytes
	}
	return e.value
}

// digestOf covers a text and what it is used for.
func digestOf(use string, text []byte) digest {
	hash := sha256.New()
	hash.Write([]byte(use))
	hash.Write([]byte{0})
	hash.Write(text)
	return digest(hash.Sum(nil))
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
	return e.blueprints.get(files.digest(), func() (*Blueprint, int, error) {
		b, err := Parse(files)
		return b, files.bytes() * compiledFactor, err
	})
}

// ParseInline reads the blueprint in a directory that is written as a tree, or remembers it.
func (e *Engine) ParseInline(tree lsv1alpha1.AnyJSON) (*Blueprint, error) {
	return e.blueprints.get(digestOf("inline", tree.Raw), func() (*Blueprint, int, error) {
		b, err := parseInline(tree)
		return b, len(tree.Raw) * compiledFactor, err
	})
}

func parseInline(tree lsv1alpha1.AnyJSON) (*Blueprint, error) {
	files, err := InlineFiles(tree)
	if err != nil {
		return nil, invalid(err)
	}
	b, err := Parse(files)
	if err != nil {
		return nil, err
	}
	plain, err := template.DecodeJSON(tree.Raw)
	if err != nil {
		return nil, invalid(err)
	}
	b.tree = &inlineTree{text: bytes.Clone(tree.Raw), plain: plain}
	return b, nil
}

// mapper evaluates the data mappings of an installation, which are compiled once.
func (e *Engine) mapper(field string) dataflow.Mapper {
	return func(mapping lsv1alpha1.AnyJSON, bindings map[string]any) (any, error) {
		compiled, err := e.mappings.get(digestOf(field, mapping.Raw), func() (*spiff.Template, int, error) {
			compiled, err := compileMapping(field, mapping)
			return compiled, len(mapping.Raw) * compiledFactor, err
		})
		if err != nil {
			return nil, err
		}
		result, err := compiled.Evaluate(spiff.Input{Bindings: bindings})
		if err != nil {
			return nil, err
		}
		return result.Value, nil
	}
}

func compileMapping(field string, mapping lsv1alpha1.AnyJSON) (*spiff.Template, error) {
	var tree any
	if !mapping.IsNull() {
		var err error
		if tree, err = template.DecodeJSON(mapping.Raw); err != nil {
			return nil, err
		}
	}
	return spiff.CompileTree(template.Source{Execution: field}, tree, spiff.Options{})
}
