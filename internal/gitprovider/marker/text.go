// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"sort"
	"strings"
	"unicode/utf8"
)

const byteOrderMark = "\ufeff"

// text is a file with the starts of its lines, as the YAML parser divides them.
type text struct {
	content string
	lines   []int
}

func newText(content string) *text {
	t := &text{content: content, lines: []int{len(content) - len(strings.TrimPrefix(content, byteOrderMark))}}
	for at := t.lines[0]; at < len(content); {
		if width := lineBreak(content[at:]); width > 0 {
			at += width
			t.lines = append(t.lines, at)
			continue
		}
		_, width := utf8.DecodeRuneInString(content[at:])
		at += width
	}
	return t
}

// lineBreak returns the length of the line break at the start of the text, or zero. YAML 1.1 has more kinds than expected.
func lineBreak(text string) int {
	for _, known := range []string{"\r\n", "\n", "\r", "\u0085", "\u2028", "\u2029"} {
		if strings.HasPrefix(text, known) {
			return len(known)
		}
	}
	return 0
}

// blank returns the length of the white space or line break at the start of the text, or zero.
func blank(text string) int {
	if text != "" && (text[0] == ' ' || text[0] == '\t') {
		return 1
	}
	return lineBreak(text)
}

// offset converts a position of the parser, which counts characters from 1, into bytes.
func (t *text) offset(line, column int) (int, bool) {
	if line < 1 || line > len(t.lines) {
		return 0, false
	}
	at := t.lines[line-1]
	for ; column > 1; column-- {
		if at >= len(t.content) {
			return 0, false
		}
		_, width := utf8.DecodeRuneInString(t.content[at:])
		at += width
	}
	return at, true
}

// line returns the number, from 1, of the line that contains a byte.
func (t *text) line(offset int) int {
	return max(1, sort.SearchInts(t.lines, offset+1))
}

// lineEnd returns the end of the line that contains a byte, before its line break.
func (t *text) lineEnd(offset int) int {
	for offset < len(t.content) && lineBreak(t.content[offset:]) == 0 {
		offset++
	}
	return offset
}

// nextLine returns the start of the line after the one that contains a byte.
func (t *text) nextLine(offset int) int {
	end := t.lineEnd(offset)
	return end + lineBreak(t.content[end:])
}

// skipBlanks returns the first byte from offset on that is neither white space nor part of a comment.
func (t *text) skipBlanks(offset int) int {
	for offset < len(t.content) {
		width := blank(t.content[offset:])
		switch {
		case width > 0:
			offset += width
		case t.content[offset] == '#' && t.afterBlank(offset):
			offset = t.lineEnd(offset)
		default:
			return offset
		}
	}
	return offset
}

// afterBlank reports whether a number sign at an offset starts a comment, provided that it is outside of scalars.
func (t *text) afterBlank(offset int) bool {
	if offset == t.lines[t.line(offset)-1] {
		return true
	}
	before := t.content[offset-1]
	return before == ' ' || before == '\t'
}

// indentation returns the number of blanks before the first other character, or dash, of the line that contains a byte.
func (t *text) indentation(offset int) int {
	rest := t.content[t.lines[t.line(offset)-1]:]
	return len(rest) - len(strings.TrimLeft(rest, " \t"))
}

// emptyLineWithin reports whether there is a blank line between two bytes.
func (t *text) emptyLineWithin(from, to int) bool {
	for at := t.nextLine(from); at < to; at = t.nextLine(at) {
		if end := t.lineEnd(at); end < to && strings.Trim(t.content[at:end], " \t") == "" {
			return true
		}
	}
	return false
}
