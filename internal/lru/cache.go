// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package lru

import (
	"container/list"
	"sync"
)

// entryOverhead is added to the size of a value to account for the overhead per entry.
const entryOverhead = 4 << 10

// Cache caches values by the content that they were computed from. It is safe for concurrent use, and the values must be, too. Errors are
// not cached.
type Cache[T any] struct {
	limit int

	mutex   sync.Mutex
	bytes   int
	entries map[Key]*list.Element
	recent  *list.List
}

type entry[T any] struct {
	key   Key
	bytes int
	value T
}

// NewCache returns a cache for a number of bytes.
func NewCache[T any](limit int) *Cache[T] {
	return &Cache[T]{limit: limit, entries: map[Key]*list.Element{}, recent: list.New()}
}

// NewCacheOf returns a cache for a number of values, whose sizes must be given as zero.
func NewCacheOf[T any](values int) *Cache[T] { return NewCache[T](values * entryOverhead) }

// Get returns the value of a key. A missing one is created, together with its size in bytes. Concurrent callers for the same missing key
// may each create it; all of them get the same value.
func (c *Cache[T]) Get(key Key, create func() (T, int, error)) (T, error) {
	if known, found := c.find(key); found {
		return known, nil
	}
	value, size, err := create()
	if err != nil {
		var none T
		return none, err
	}
	return c.add(&entry[T]{key: key, bytes: size + entryOverhead, value: value}), nil
}

// Len returns the number of cached values.
func (c *Cache[T]) Len() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return len(c.entries)
}

func (c *Cache[T]) find(key Key) (value T, found bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	element, found := c.entries[key]
	if !found {
		return value, false
	}
	c.recent.MoveToFront(element)
	return element.Value.(*entry[T]).value, true
}

// add caches a value, and returns the cached one: another one if that was faster.
func (c *Cache[T]) add(e *entry[T]) T {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if element, found := c.entries[e.key]; found {
		return element.Value.(*entry[T]).value
	}
	if e.bytes > c.limit {
		return e.value
	}
	c.entries[e.key] = c.recent.PushFront(e)
	c.bytes += e.bytes
	for c.bytes > c.limit {
		oldest := c.recent.Remove(c.recent.Back()).(*entry[T])
		delete(c.entries, oldest.key)
		c.bytes -= oldest.bytes
	}
	return e.value
}
