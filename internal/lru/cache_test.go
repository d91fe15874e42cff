// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package lru

import (
	"errors"
	"sync"
	"testing"
)

func key(name string) Key { return KeyOf([]byte(name)) }

// get gets a value of a size from a cache, and reports whether it had to be created.
func get(t *testing.T, c *Cache[*string], name string, size int) (value *string, made bool) {
	t.Helper()
	value, err := c.Get(key(name), func() (*string, int, error) {
		made = true
		return &name, size, nil
	})
	if err != nil || *value != name {
		t.Fatalf("got %v, %v", *value, err)
	}
	return value, made
}

func TestWhatWasNotUsedIsForgotten(t *testing.T) {
	const size = 100
	c := NewCache[*string](2 * (size + entryOverhead))
	for _, step := range []struct {
		name string
		made bool
	}{{"one", true}, {"two", true}, {"one", false}, {"three", true}, {"one", false}, {"two", true}, {"three", true}} {
		if _, made := get(t, c, step.name, size); made != step.made {
			t.Fatalf("%s was made: %v, want %v", step.name, made, step.made)
		}
		if c.bytes > c.limit || len(c.entries) != c.recent.Len() {
			t.Fatalf("%d bytes of %d, %d entries, %d in order", c.bytes, c.limit, len(c.entries), c.recent.Len())
		}
	}
	if get(t, c, "large", 2*size+entryOverhead+1); c.Len() != 2 {
		t.Errorf("what does not fit has displaced others: %d are left", c.Len())
	}
}

func TestANumberOfValuesIsKept(t *testing.T) {
	c := NewCacheOf[*string](2)
	for _, step := range []struct {
		name string
		made bool
	}{{"one", true}, {"two", true}, {"one", false}, {"two", false}, {"three", true}, {"two", false}, {"one", true}} {
		if _, made := get(t, c, step.name, 0); made != step.made {
			t.Fatalf("%s was made: %v, want %v", step.name, made, step.made)
		}
	}
}

func TestFailuresAreNotKept(t *testing.T) {
	c := NewCache[*string](1 << 20)
	broken := errors.New("broken")
	if value, err := c.Get(key("x"), func() (*string, int, error) { return new(string), 1, broken }); !errors.Is(err, broken) ||
		value != nil {
		t.Errorf("got %v, %v", value, err)
	}
	if _, made := get(t, c, "x", 1); !made {
		t.Error("the failure is remembered")
	}
}

// Concurrent callers that create the same value all get the same one.
func TestOneValueForAll(t *testing.T) {
	c := NewCache[*string](1 << 20)
	const many = 8
	var begun, running sync.WaitGroup
	begun.Add(many)
	values := make([]*string, many)
	for i := range many {
		running.Go(func() {
			values[i], _ = c.Get(key("x"), func() (*string, int, error) {
				begun.Done()
				begun.Wait()
				return new(string), 1, nil
			})
		})
	}
	running.Wait()
	for _, value := range values {
		if value == nil || value != values[0] {
			t.Fatalf("got %v and %v", values[0], value)
		}
	}
}

func TestKeysTellContentsApart(t *testing.T) {
	seen := map[Key]int{}
	for i, parts := range [][]string{{}, {""}, {"", ""}, {"ab"}, {"a", "b"}, {"b", "a"}, {"", "ab"}, {"ab", ""}} {
		var content [][]byte
		for _, part := range parts {
			content = append(content, []byte(part))
		}
		if other, taken := seen[KeyOf(content...)]; taken {
			t.Errorf("%d and %d have the same key", i, other)
		}
		seen[KeyOf(content...)] = i
	}
}
