// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"time"
)

// Entropy is what templates generate passwords and keys from. It is no source of chance: everything follows from a seed that
// the caller has taken from one, so that whoever renders twice with the same seed gets the same. Nobody who does not know
// the seed can tell what it yields.
//
// It belongs to one rendering and is not safe for concurrent use.
type Entropy struct {
	key     []byte
	counter uint64
	rest    []byte
	now     time.Time
	used    bool
	// whole is the entropy that this one is a part of.
	whole *Entropy
}

// NewEntropy returns what follows from a seed. The time is the one that certificates begin at.
func NewEntropy(seed []byte, now time.Time) *Entropy {
	return &Entropy{key: sum(seed, "entropy"), now: now}
}

// For returns what follows from the seed for one purpose. It has nothing in common with what others get.
func (e *Entropy) For(purpose string) *Entropy {
	return &Entropy{key: sum(e.key, "for "+purpose), now: e.now, whole: e}
}

// Used reports whether anything was generated from this entropy or a part of it.
func (e *Entropy) Used() bool { return e.used }

func (e *Entropy) use() {
	for ; e != nil; e = e.whole {
		e.used = true
	}
}

// Now returns the time that was given.
func (e *Entropy) Now() time.Time {
	e.use()
	return e.now
}

// Read fills p. It never fails.
func (e *Entropy) Read(p []byte) (int, error) {
	e.use()
	for n := 0; n < len(p); {
		if len(e.rest) == 0 {
			e.counter++
			e.rest = sum(e.key, string(binary.BigEndian.AppendUint64(nil, e.counter)))
		}
		copied := copy(p[n:], e.rest)
		n, e.rest = n+copied, e.rest[copied:]
	}
	return len(p), nil
}

// Bytes returns so many bytes.
func (e *Entropy) Bytes(count int) []byte {
	content := make([]byte, count)
	_, _ = e.Read(content)
	return content
}

// Below returns a number from zero up to, and without, a limit, which is positive. All are equally likely.
func (e *Entropy) Below(limit int64) int64 {
	bound := uint64(limit)
	for {
		// Numbers of the last round, which is not complete, would make small results more likely.
		if n := binary.BigEndian.Uint64(e.Bytes(8)); n < math.MaxUint64-math.MaxUint64%bound {
			return int64(n % bound)
		}
	}
}

// Text returns so many of the characters, each of them equally likely.
func (e *Entropy) Text(characters []rune, count int) string {
	text := make([]rune, count)
	for i := range text {
		text[i] = characters[e.Below(int64(len(characters)))]
	}
	return string(text)
}

func sum(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
