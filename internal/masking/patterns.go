// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package masking

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// shortestWithin is the minimum length of a secret that is masked within a word; "data" is not masked in "metadata".
	shortestWithin = 6
	// window is the minimum length of a common part of a text and a secret that is masked: messages truncate long values.
	window = 16
)

// patterns are the texts to look for. Everything is in lower case, because templates change the case.
type patterns struct {
	// whole are secrets in all their encodings.
	whole map[string]bool
	// long are words of secrets that are masked even in part.
	long []string
}

func compile(texts map[string]bool) *patterns {
	p := &patterns{whole: map[string]bool{}}
	for text, inPieces := range texts {
		for _, form := range disguises(text) {
			p.whole[fold(form)] = true
			if !inPieces || len(form) < window {
				continue
			}
			for word := range strings.FieldsSeq(fold(form)) {
				if len(word) >= window {
					p.long = append(p.long, word)
				}
			}
		}
	}
	return p
}

// disguises returns the forms in which a value may appear: literally, in quotes, in a URL, in base64, in hexadecimal digits.
func disguises(text string) []string {
	forms := []string{text, base64.StdEncoding.EncodeToString([]byte(text))}
	if len(text) < shortest {
		return forms
	}
	quoted := strconv.Quote(text)
	forms = append(forms, quoted[1:len(quoted)-1], url.QueryEscape(text), url.PathEscape(text), hex.EncodeToString([]byte(text)))
	if escaped, err := json.Marshal(text); err == nil {
		forms = append(forms, string(escaped[1:len(escaped)-1]))
	}
	for before := range 3 {
		forms = append(forms, base64Within(text, before, base64.RawStdEncoding), base64Within(text, before, base64.RawURLEncoding))
	}
	return forms
}

// base64Within returns the part of the base64 encoding that is the same in any longer text in which the value starts after
// before bytes, modulo three. This finds the value in the encoding of a longer text, such as a user name and a password
// separated by a colon.
func base64Within(text string, before int, encoding *base64.Encoding) string {
	encoded := encoding.EncodeToString([]byte(strings.Repeat("\x00", before) + text))
	certain := (before + len(text)) * 8 / 6
	uncertain := (before*8 + 5) / 6
	return encoded[min(uncertain, certain):certain]
}

// fold converts letters to lower case, as long as that preserves positions in the text.
func fold(text string) string {
	return strings.Map(func(r rune) rune {
		if lower := unicode.ToLower(r); utf8.RuneLen(lower) == utf8.RuneLen(r) {
			return lower
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}

func (p *patterns) masked(text string) string {
	text = strings.ToValidUTF8(text, "?")
	folded := fold(text)
	hidden := make([]bool, len(folded))
	for pattern := range p.whole {
		hide(hidden, folded, pattern)
	}
	p.hideParts(hidden, folded)
	var result strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case !hidden[i]:
			result.WriteByte(text[i])
		case i == 0 || !hidden[i-1]:
			result.WriteString(Mask)
		}
	}
	return result.String()
}

// hide marks every occurrence of the pattern.
func hide(hidden []bool, text, pattern string) {
	for from := 0; ; {
		at := strings.Index(text[from:], pattern)
		if at < 0 || pattern == "" {
			return
		}
		begin, end := from+at, from+at+len(pattern)
		if counts(text, begin, end) {
			mark(hidden, begin, end)
		}
		from = begin + 1
	}
}

// counts reports whether an occurrence is the secret rather than a part of a word. The shorter a secret is, the more often
// it occurs by chance.
func counts(text string, begin, end int) bool {
	switch length := end - begin; {
	case length >= shortestWithin:
		return true
	case length >= shortest:
		return !isWord(text, begin-1) && !isWord(text, end)
	default:
		return isQuote(text, begin-1) && isQuote(text, end)
	}
}

func isWord(text string, at int) bool {
	if at < 0 || at >= len(text) {
		return false
	}
	c := text[at]
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c >= 0x80
}

func isQuote(text string, at int) bool {
	return at >= 0 && at < len(text) && strings.IndexByte("\"'`\\[]", text[at]) >= 0
}

// hideParts marks what the text has in common with long words of secrets.
func (p *patterns) hideParts(hidden []bool, text string) {
	if len(text) < window || len(p.long) == 0 {
		return
	}
	places := map[string][]int{}
	for i := 0; i+window <= len(text); i++ {
		places[text[i:i+window]] = append(places[text[i:i+window]], i)
	}
	for _, word := range p.long {
		for i := 0; i+window <= len(word); i++ {
			for _, at := range places[word[i:i+window]] {
				mark(hidden, at, at+window)
			}
		}
	}
}

func mark(hidden []bool, begin, end int) {
	for i := begin; i < end; i++ {
		hidden[i] = true
	}
}
