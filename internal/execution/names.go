// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

const (
	// maxItemName is the limit of the API server for a generated name. Deployers use the name as a label value, which has the same limit.
	maxItemName = 63
	// shortHash distinguishes readable names that are equal, longHash also those with replaced characters.
	shortHash, longHash = 5, 10
)

// ItemName returns the name of the object for a deploy item. It is deterministic, so that creating it twice creates one.
func ItemName(execution, item string) string {
	text := execution + "-" + item
	readable := strings.Trim(strings.Map(nameRune, strings.ToLower(text)), "-")
	length := shortHash
	if readable != text || len(readable) > maxItemName-1-shortHash {
		length = longHash
		readable = strings.TrimRight(readable[:min(len(readable), maxItemName-1-longHash)], "-")
	}
	sum := sha256.Sum256([]byte(execution + "/" + item))
	hash := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:length]
	return strings.TrimLeft(readable+"-"+hash, "-")
}

// nameRune replaces characters that a DNS label must not contain.
func nameRune(r rune) rune {
	if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' {
		return r
	}
	return '-'
}
