// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package lru

import (
	"crypto/sha256"
	"encoding/binary"
)

// Key stands for the content that a value is made from.
type Key [sha256.Size]byte

// KeyOf covers the parts of a content, their order and where each of them ends.
func KeyOf(parts ...[]byte) Key {
	hash := sha256.New()
	var length [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		hash.Write(length[:])
		hash.Write(part)
	}
	return Key(hash.Sum(nil))
}
