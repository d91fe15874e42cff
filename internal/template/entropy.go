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

// Entropy is the source from which templates generate passwords and keys. It is not random itself: all values are derived
// from a seed that the caller took from a random source, so that rendering twice with the same seed gives the same result.
// Without the seed, its output is unpredictable.
//
// It belongs to one rendering and is not safe for concurrent use.
type Entropy struct {
	key     []byte
	counter uint64
	rest    []byte
	now     time.Time
	used    bool
	// whole is the entropy that this one was derived from.
	whole *Entropy
}

// NewEntropy returns the entropy of a seed. The time is the start of the validity of certificates.
func NewEntropy(seed []byte, now time.Time) *Entropy {
	return &Entropy{key: sum(seed, "entropy"), now: now}
}

// For derives the entropy for one purpose. It is independent of that for other purposes.
func (e *Entropy) For(purpose string) *Entropy {
	return &Entropy{key: sum(e.key, "for "+purpose), now: e.now, whole: e}
}

// Used reports whether anything was generated from this entropy or one derived from it.
func (e *Entropy) Used() bool { return e.used }

func (e *Entropy) use() {
	for ; e != nil; e = e.whole {
		e.used = true
	}
}

// Now returns the time passed to NewEntropy.
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

// Bytes returns count bytes.
func (e *Entropy) Bytes(count int) []byte {
	content := make([]byte, count)
	_, _ = e.Read(content)
	return content
}

// Below returns a number in [0, limit), uniformly distributed. The limit must be positive.
func (e *Entropy) Below(limit int64) int64 {
	bound := uint64(limit)
	for {
		// Numbers beyond the last complete multiple would make small results more likely.
		if n := binary.BigEndian.Uint64(e.Bytes(8)); n < math.MaxUint64-math.MaxUint64%bound {
			return int64(n % bound)
		}
	}
}

// Text returns count of the characters, each chosen uniformly.
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
