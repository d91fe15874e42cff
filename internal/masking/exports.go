// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package masking

import (
	"encoding/base64"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// AddExport adds what looks secret in an exported value. Exports come from anywhere, and most are names and addresses that an error must
// show. So it adds only texts of at least 16 bytes that contain more than words and numbers, and texts in base64, with their content: this
// is how Secrets of a target cluster are exported.
func (v *Values) AddExport(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, inner := range value {
			v.AddExport(inner)
		}
	case []any:
		for _, inner := range value {
			v.AddExport(inner)
		}
	case string:
		v.addExported(strings.TrimSpace(value))
	}
}

func (v *Values) addExported(text string) {
	if content, ok := encodedIn(text); ok {
		v.add(text)
		v.AddText(content)
		return
	}
	if len(text) < window {
		return
	}
	var document any
	if yaml.Unmarshal([]byte(text), &document) == nil {
		switch document.(type) {
		case map[string]any, []any:
			v.put(text, false)
			v.AddExport(document)
			return
		}
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) >= window && !isPlain(line) {
			v.add(line)
		}
	}
}

// shortestEncoded is the minimum length of a text in base64: shorter ones are words.
const shortestEncoded = 8

// encodedIn returns the text that is encoded in base64, and whether there is one. What decodes to something else than text is a word.
func encodedIn(text string) (content string, ok bool) {
	if len(text) < shortestEncoded {
		return "", false
	}
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil || !utf8.Valid(decoded) {
		return "", false
	}
	content = string(decoded)
	hidden := func(r rune) bool { return !unicode.IsPrint(r) && !unicode.IsSpace(r) }
	return content, !strings.ContainsFunc(content, hidden)
}

// plainWord matches a word as people choose it, a number, or a short mixture of both such as v2 or a part of an address.
var plainWord = regexp.MustCompile(`^([A-Za-z]?[a-z]{0,14}|[A-Z]{1,14}|[0-9]{1,14}|[A-Za-z0-9]{1,4})$`)

// isPlain reports whether a text consists of plain words, like a name, an address, a path or a sentence.
func isPlain(text string) bool {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if !plainWord.MatchString(word) {
			return false
		}
	}
	return true
}
