// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package diagram

import (
	"strings"
	"unicode"
)

// Sizes of text, in tenths of a pixel. That of titles exceeds the font size, since they are bold.
const (
	titleSize  = 138
	detailSize = 115
	labelSize  = 110
)

// showsLabel reports whether the label of an edge is drawn.
func (e Edge) showsLabel() bool { return e.Label != "" && e.State != There }

// textWidth estimates the width of a text, in pixels. It errs on the wide side: fonts differ.
func textWidth(text string, size int) int {
	hundredths := 0
	for _, r := range text {
		hundredths += runeWidth(r)
	}
	return (hundredths*size + 999) / 1000
}

// runeWidth returns the width in hundredths of the font size.
func runeWidth(r rune) int {
	switch {
	case unicode.Is(unicode.Mn, r):
		return 0
	case r >= 0x1100 && (unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) || r >= 0x1F000):
		return 105
	case strings.ContainsRune("iljtfrI.,:;'|!()[] /", r):
		return 36
	case strings.ContainsRune("mwMW@%", r):
		return 88
	case unicode.IsUpper(r):
		return 70
	}
	return 58
}

// cut truncates a text to a width, with an ellipsis.
func cut(text string, width, size int) string {
	if textWidth(text, size) <= width {
		return text
	}
	runes := []rune(text)
	for len(runes) > 0 && textWidth(string(runes)+"…", size) > width {
		runes = runes[:len(runes)-1]
	}
	return strings.TrimRight(string(runes), " ") + "…"
}

// clean returns a text on one line, without characters that cannot be printed or written as XML.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// word converts a state into a class name: lower-case letters, digits and hyphens.
func word(state string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return -1
	}, strings.ToLower(state))
}
