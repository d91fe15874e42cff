// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package lru

import (
	"crypto/sha256"
	"encoding/binary"
)

// Key identifies the content that a value is computed from.
type Key [sha256.Size]byte

// KeyOf hashes the parts of a content, including their order and boundaries.
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
