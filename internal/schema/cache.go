// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
)

// DefaultCacheBytes is a cache size for a process that serves some hundred blueprints.
const DefaultCacheBytes = 4 << 20

// entryOverhead is added to the text of a schema for the overhead of every entry.
const entryOverhead = 512

// maxVariants is the maximum number of entries with the same key.
const maxVariants = 16

// cache caches compiled schemas by content: the text of the schema and of everything that it refers to. Its size is that of
// the texts. The least recently used entry is evicted first. It is not safe for concurrent use.
type cache struct {
	limit, bytes int
	// entries have equal keys and differ in the files and resources that they refer to.
	entries map[digest][]*list.Element
	recent  *list.List
}

type entry struct {
	key       digest
	documents []remembered
	bytes     int
	schema    *Schema
}

// remembered is a document that identifies an entry.
type remembered struct {
	identity, from string
	reference      Reference
	text           digest
}

func newCache(limit int) *cache {
	return &cache{limit: limit, entries: map[digest][]*list.Element{}, recent: list.New()}
}

// keyOf covers what can be hashed without knowing the references of a schema. Files and resources are compared later.
func keyOf(text []byte, sources *Sources) digest {
	hash := sha256.New()
	write := func(part []byte) {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		hash.Write(length[:])
		hash.Write(part)
	}
	write([]byte(sources.Draft))
	write(text)
	for _, name := range slices.Sorted(maps.Keys(sources.LocalTypes)) {
		write([]byte(name))
		write(sources.LocalTypes[name])
	}
	return digest(hash.Sum(nil))
}

// candidates returns the entries under a key, most recent first.
func (c *cache) candidates(key digest) []*entry {
	var result []*entry
	for _, element := range slices.Backward(c.entries[key]) {
		result = append(result, element.Value.(*entry))
	}
	return result
}

func (c *cache) touch(used *entry) {
	for _, element := range c.entries[used.key] {
		if element.Value == any(used) {
			c.recent.MoveToFront(element)
		}
	}
}

func (c *cache) add(e *entry) {
	if e.bytes > c.limit {
		return
	}
	if same := c.entries[e.key]; len(same) >= maxVariants {
		c.remove(same[0])
	}
	c.entries[e.key] = append(c.entries[e.key], c.recent.PushFront(e))
	c.bytes += e.bytes
	for c.bytes > c.limit {
		c.remove(c.recent.Back())
	}
}

func (c *cache) remove(element *list.Element) {
	e := c.recent.Remove(element).(*entry)
	c.bytes -= e.bytes
	left := slices.DeleteFunc(c.entries[e.key], func(other *list.Element) bool { return other == element })
	if len(left) == 0 {
		delete(c.entries, e.key)
		return
	}
	c.entries[e.key] = left
}

// matches reports whether all documents of an entry still have the same text. It reads them in the order of their discovery,
// because a component determines where further ones are.
func (e *entry) matches(sources *Sources, limit int) bool {
	origins := map[string]origin{rootIdentity: sources.origin()}
	for _, document := range e.documents {
		at := origins[document.from]
		if at.identity(document.reference) != document.identity {
			return false
		}
		content, err := at.read(document.reference, limit)
		if err != nil || sha256.Sum256(content.text) != document.text {
			return false
		}
		origins[document.identity] = content.at
	}
	return true
}

func newEntry(key digest, b *bundle, schema *Schema) *entry {
	e := &entry{key: key, bytes: b.bytes + entryOverhead, schema: schema}
	for _, identity := range b.order[1:] {
		d := b.documents[identity]
		e.documents = append(e.documents, remembered{identity: identity, from: d.from, reference: d.reference, text: d.text})
	}
	return e
}
