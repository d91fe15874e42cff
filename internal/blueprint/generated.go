// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// generated maps the texts that a Go template has generated to the functions that generated them.
type generated map[string]string

const (
	// shortest is the minimum length of a text that can be detected in the output, and shortestChanged that of one in another
	// form: a shorter form could be there by chance.
	shortest, shortestChanged = 4, 7
	// shortestLine is the minimum length of a line by which a text of several lines is detected, so that it can be indented.
	shortestLine = 16
)

func (g generated) note(function, text string) {
	if text = strings.TrimSpace(text); len(text) >= shortest {
		g[text] = function
	}
}

// lost returns a function with a result that is used but not stored. Of the ways in which a template can change a text, it
// knows those of formsOf.
func (g generated) lost(output, state map[string]any) string {
	if len(g) == 0 {
		return ""
	}
	forms := index{}
	for text := range g {
		forms.add(text)
	}
	used, _ := json.Marshal(output)
	kept, _ := json.Marshal(state)
	found, stored := forms.in(used), forms.in(kept)
	for _, text := range slices.Sorted(maps.Keys(found)) {
		if !stored[text] {
			return g[text]
		}
	}
	return ""
}

// index holds the forms of many texts by how they begin, so that a search for all of them takes a single pass.
type index map[[shortest]byte][]form

// form is how a text may appear in a JSON document.
type form struct {
	text    string
	written []byte
}

func (x index) add(text string) {
	for _, written := range formsOf(text) {
		start := [shortest]byte(written)
		x[start] = append(x[start], form{text, written})
	}
}

// in returns the texts that a JSON document contains in any form.
func (x index) in(document []byte) map[string]bool {
	found := map[string]bool{}
	for i := range max(0, len(document)-shortest+1) {
		for _, f := range x[[shortest]byte(document[i:])] {
			if bytes.HasPrefix(document[i:], f.written) {
				found[f.text] = true
			}
		}
	}
	return found
}

// formsOf returns the forms in which a text is detected: as it is, in upper and lower case, and in base64, also as a part of
// what is encoded.
func formsOf(text string) [][]byte {
	text = characteristic(text)
	forms := [][]byte{quoted(text)}
	if len(text) < shortestChanged {
		return forms
	}
	forms = append(forms, quoted(strings.ToUpper(text)), quoted(strings.ToLower(text)))
	for offset := range 3 {
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			forms = append(forms, encodedBehind(offset, text, encoding))
		}
	}
	return forms
}

// characteristic returns the part of a text by which it is detected: of several lines, the last of the longest ones, so that
// they may be indented. The first lines of keys and certificates are similar.
func characteristic(text string) string {
	longest := ""
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) >= len(longest) {
			longest = line
		}
	}
	if len(longest) < shortestLine {
		return text
	}
	return longest
}

// encodedBehind returns those characters of an encoded text that are always the same if it comes behind offset other bytes,
// and before any.
func encodedBehind(offset int, text string, encoding *base64.Encoding) []byte {
	const bits = 6
	encoded := encoding.EncodeToString(append(make([]byte, offset), text...))
	first := (offset*8 + bits - 1) / bits
	return []byte(encoded[first : (offset+len(text))*8/bits])
}

// quoted returns a text as it is written inside a JSON string.
func quoted(text string) []byte {
	content, _ := json.Marshal(text)
	return content[1 : len(content)-1]
}
