// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// span is the position of a scalar in the file. A block scalar has two parts, since a comment may follow its header: the indicators and the
// lines of the content. For all others, the second part is empty.
type span struct {
	start, end         int
	bodyStart, bodyEnd int
	block              bool
}

// contains reports whether a number sign at an offset belongs to the scalar.
func (s span) contains(offset int) bool {
	return s.start <= offset && offset < s.end || s.bodyStart <= offset && offset < s.bodyEnd
}

// last returns the end of the scalar.
func (s span) last() int { return max(s.end, s.bodyEnd) }

// locate finds a scalar or alias. The parser returns its start, including anchor and tag, and its value; its end follows from both.
func (t *text) locate(node *yaml.Node) (span, bool) {
	begin, ok := t.offset(node.Line, node.Column)
	if !ok {
		return span{}, false
	}
	if node.Kind == yaml.AliasNode {
		return span{start: begin, end: t.wordEnd(begin)}, strings.HasPrefix(t.content[begin:], "*")
	}
	start := t.skipProperties(begin)
	if node.Value == "" && node.Style&^yaml.TaggedStyle == 0 {
		return t.locateNothing(begin, start)
	}
	rest := t.content[start:]
	switch {
	case node.Style&yaml.DoubleQuotedStyle != 0:
		return t.locateQuoted(start, '"')
	case node.Style&yaml.SingleQuotedStyle != 0:
		return t.locateQuoted(start, '\'')
	case node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return t.locateBlock(start, node.Value)
	}
	end, ok := t.match(start, node.Value)
	return span{start: start, end: end}, ok && rest != ""
}

// locateNothing places a missing value directly after the preceding text, including its anchor and tag.
func (t *text) locateNothing(begin, start int) (span, bool) {
	end := begin
	for at := begin; at < start; {
		if width := blank(t.content[at:]); width > 0 {
			at += width
			continue
		}
		if t.content[at] != '&' && t.content[at] != '!' {
			break
		}
		at = t.propertyEnd(at)
		end = at
	}
	return span{start: end, end: end}, true
}

// skipProperties returns the start of a scalar after its anchor and tag.
func (t *text) skipProperties(offset int) int {
	for offset < len(t.content) && (t.content[offset] == '&' || t.content[offset] == '!') {
		offset = t.skipBlanks(t.propertyEnd(offset))
	}
	return offset
}

// propertyEnd returns the end of an anchor or tag. A tag in angle brackets may contain characters that end others.
func (t *text) propertyEnd(offset int) int {
	if strings.HasPrefix(t.content[offset:], "!<") {
		if length := strings.IndexByte(t.content[offset:], '>'); length > 0 {
			return offset + length + 1
		}
	}
	return t.wordEnd(offset)
}

func (t *text) wordEnd(offset int) int {
	for offset < len(t.content) && blank(t.content[offset:]) == 0 && !strings.ContainsRune(",[]{}", rune(t.content[offset])) {
		offset++
	}
	return offset
}

func (t *text) locateQuoted(start int, quote byte) (span, bool) {
	if start >= len(t.content) || t.content[start] != quote {
		return span{}, false
	}
	for at := start + 1; at < len(t.content); at++ {
		switch {
		case quote == '"' && t.content[at] == '\\':
			at++
		case t.content[at] != quote:
		case quote == '\'' && strings.HasPrefix(t.content[at:], "''"):
			at++
		default:
			return span{start: start, end: at + 1}, true
		}
	}
	return span{}, false
}

func (t *text) locateBlock(start int, value string) (span, bool) {
	if start >= len(t.content) || t.content[start] != '|' && t.content[start] != '>' {
		return span{}, false
	}
	result := span{start: start, end: t.wordEnd(start), block: true}
	result.bodyStart = t.nextLine(start)
	result.bodyEnd = result.bodyStart
	if strings.TrimFunc(value, isBlank) == "" {
		return result, true
	}
	last, ok := t.match(result.bodyStart, value)
	result.bodyEnd = t.nextLine(last)
	return result, ok
}

// match returns the end of the text for value, starting at offset. Plain and block scalars have no escapes, so text and value differ only
// in white space, which is folded or belongs to the indentation.
func (t *text) match(offset int, value string) (int, bool) {
	end := offset
	for value != "" {
		wanted, width := utf8.DecodeRuneInString(value)
		value = value[width:]
		if isBlank(wanted) {
			continue
		}
		for offset < len(t.content) && blank(t.content[offset:]) > 0 {
			offset += blank(t.content[offset:])
		}
		found, width := utf8.DecodeRuneInString(t.content[offset:])
		if found != wanted || width == 0 {
			return 0, false
		}
		offset += width
		end = offset
	}
	return end, true
}

func isBlank(r rune) bool { return blank(string(r)) > 0 }
