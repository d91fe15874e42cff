// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// State locates a packed state.
type State struct {
	// Prefix is the prefix of the names of its Secrets; see SlotName.
	Prefix string
	Pieces int
	// Sum is the SHA-256 of the whole, in hexadecimal digits.
	Sum string
}

// String returns the form of AnnotationState.
func (s State) String() string { return fmt.Sprintf("%s/%d/%s", s.Prefix, s.Pieces, s.Sum) }

var sumPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

// ParseState parses the result of String; false for any other text.
func ParseState(text string) (State, bool) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 || !sumPattern.MatchString(parts[2]) {
		return State{}, false
	}
	pieces, err := strconv.Atoi(parts[1])
	if err != nil || pieces < 1 || pieces > MaxStatePieces {
		return State{}, false
	}
	return State{Prefix: parts[0], Pieces: pieces, Sum: parts[2]}, true
}

// SlotName returns the name of the Secret for a piece of a state.
func SlotName(prefix string, piece int) string { return fmt.Sprintf("%s-%d", prefix, piece) }

// PieceName returns the name of the file that holds a piece.
func PieceName(piece int) string { return fmt.Sprintf(pieceNameFormat, piece) }

// Split cuts a packed archive into pieces.
func Split(data []byte) [][]byte {
	var pieces [][]byte
	for len(data) > 0 {
		n := min(len(data), PieceBytes)
		pieces = append(pieces, data[:n])
		data = data[n:]
	}
	return pieces
}

// Sum returns the checksum of a packed archive.
func Sum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
