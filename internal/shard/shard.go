// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// Most is the maximum number of shards.
const Most = 100

// Shard is one of several parts of the work. The zero value is all of it, like 1/1.
type Shard struct {
	// Number counts from 1.
	Number int
	// Of is the number of shards.
	Of int
}

// Parse parses a shard such as 2/5. Empty text is all of the work.
func Parse(text string) (Shard, error) {
	if text == "" {
		return Shard{}, nil
	}
	number, of, _ := strings.Cut(text, "/")
	var s Shard
	var errs [2]error
	s.Number, errs[0] = strconv.Atoi(number)
	s.Of, errs[1] = strconv.Atoi(of)
	switch {
	case errs[0] != nil || errs[1] != nil || s.String() != text:
		return Shard{}, fmt.Errorf("%q is not a shard: use NUMBER/COUNT, for example 2/5", text)
	case s.Of < 1 || s.Of > Most:
		return Shard{}, fmt.Errorf("%q is not a shard: the count must be from 1 to %d", text, Most)
	case s.Number < 1 || s.Number > s.Of:
		return Shard{}, fmt.Errorf("%q is not a shard: the number must be from 1 to %d", text, s.Of)
	}
	return s, nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Number, s.Of) }

// MarshalText implements encoding.TextMarshaler.
func (s Shard) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Shard) UnmarshalText(text []byte) error {
	read, err := Parse(string(text))
	if err == nil && read.IsAll() {
		err = fmt.Errorf("%q is not one of several shards", text)
	}
	*s = read
	return err
}

// IsAll reports whether there is only one shard.
func (s Shard) IsAll() bool { return s.Of < 2 }

// Owns reports whether a tree belongs to the shard, by the key of its root.
func (s Shard) Owns(root string) bool { return s.IsAll() || OwnerOf(root, s.Of) == s.Number }

// OwnerOf returns the number of the shard that a tree belongs to, by the key of its root.
func OwnerOf(root string, of int) int {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(root)) // it never fails
	base, owner, most := hash.Sum64(), 1, uint64(0)
	for number := 1; number <= of; number++ {
		if w := weight(base, number); w > most {
			owner, most = number, w
		}
	}
	return owner
}

// weight mixes the hash of a tree with the number of a shard. Each bit of both reaches every bit of the result.
func weight(hash uint64, number int) uint64 {
	x := hash + uint64(number)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Key identifies the tree of a root.
func Key(namespace, root string) string { return namespace + "/" + root }

// Overlaps reports whether a tree may belong to both shards. With the same number of shards, a tree belongs to one of them. Otherwise, it
// belongs to the same number in both divisions, or to a shard that only the larger division has.
func (s Shard) Overlaps(other Shard) bool {
	small, large := s.normal(), other.normal()
	if small.Of > large.Of {
		small, large = large, small
	}
	return large.Number > small.Of || large.Number == small.Number
}

func (s Shard) normal() Shard {
	if s.IsAll() {
		return Shard{Number: 1, Of: 1}
	}
	return s
}
