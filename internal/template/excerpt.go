// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// linesAround is the number of lines shown before and after the place.
	linesAround = 5
	// maxLine and maxExpression bound the shown part of long lines and long expressions.
	maxLine       = 120
	maxExpression = 200
)

// excerpt returns the lines around a place, numbered, with a caret below the column.
func excerpt(text string, place Place) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if place.Line < 1 || place.Line > len(lines) {
		return ""
	}
	first := max(1, place.Line-linesAround)
	last := min(len(lines), place.Line+linesAround)
	var shown []string
	for number := first; number <= last; number++ {
		line, skipped := window(lines[number-1], place.Column, number == place.Line)
		mark := " "
		if number == place.Line {
			mark = ">"
		}
		shown = append(shown, strings.TrimRight(fmt.Sprintf("%s %4d | %s", mark, number, line), " "))
		if number == place.Line && place.Column > 0 {
			shown = append(shown, "       | "+caret(line, place.Column-1-skipped))
		}
	}
	return strings.Join(shown, "\n")
}

// window returns the part of a line to show, and the number of bytes skipped before it. Of the line that matters, it shows
// the part around the column.
func window(line string, column int, matters bool) (shown string, skipped int) {
	line = strings.TrimRight(line, "\r")
	if len(line) <= maxLine {
		return printable(line), 0
	}
	if matters && column > maxLine/2 {
		skipped = min(column-maxLine/2, len(line)-maxLine)
	}
	for skipped > 0 && !utf8.RuneStart(line[skipped]) {
		skipped--
	}
	end := skipped + maxLine
	for end < len(line) && !utf8.RuneStart(line[end]) {
		end++
	}
	return printable(line[skipped:end]), skipped
}

// caret returns a caret below the byte at an offset, keeping tabs so that it aligns.
func caret(line string, offset int) string {
	var indent strings.Builder
	for i, char := range line {
		if i >= offset {
			break
		}
		if char != '\t' {
			char = ' '
		}
		indent.WriteRune(char)
	}
	return indent.String() + "^"
}

// printable replaces characters that would confuse a terminal.
func printable(line string) string {
	return strings.Map(func(char rune) rune {
		if char < ' ' && char != '\t' || char == utf8.RuneError || char == 0x7f {
			return '?'
		}
		return char
	}, line)
}

// shorten cuts the middle out of a long text and joins its lines.
func shorten(text string, limit int) string {
	text = printable(strings.Join(strings.Fields(text), " "))
	if len(text) <= limit {
		return text
	}
	head, tail := limit*2/3, len(text)-limit/3
	for !utf8.RuneStart(text[head]) {
		head--
	}
	for !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + " ... " + text[tail:]
}
