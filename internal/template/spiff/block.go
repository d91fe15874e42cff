// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"

	"espalier.dev/internal/template"
)

// blockWriter writes YAML byte for byte like the original language, so that deployed content does not change when one engine
// takes over from the other. It differs from other YAML writers in four points: keys are sorted as strings, a multi-line
// text that ends with one line feed has the header |+, a time of day is not quoted, and non-ASCII characters are escaped.
type blockWriter struct {
	text strings.Builder
	// failed reports whether a part has no YAML form.
	failed bool
}

// asBlock writes a plain value.
func asBlock(plain any) (string, error) {
	w := &blockWriter{}
	w.write(plain, 0, "")
	if w.failed {
		return "", template.Problemf("the value has no YAML form")
	}
	return w.text.String(), nil
}

// write writes a value. The indentation applies to the lines that it starts; head precedes a value that needs no
// separate line: a space after a key, nothing elsewhere.
func (w *blockWriter) write(plain any, indentation int, head string) {
	switch v := plain.(type) {
	case map[string]any:
		if len(v) > 0 {
			w.entries(v, indentation)
			return
		}
		w.text.WriteString(head + "{}\n")
	case []any:
		if len(v) > 0 {
			w.items(v, indentation)
			return
		}
		w.text.WriteString(head + "[]\n")
	default:
		w.text.WriteString(head + w.scalar(plain, indentation))
	}
}

// entries writes the entries of a map. The first one continues the current line.
func (w *blockWriter) entries(entries map[string]any, indentation int) {
	for i, name := range slices.Sorted(maps.Keys(entries)) {
		if i > 0 {
			w.text.WriteString(strings.Repeat(" ", indentation))
		}
		w.text.WriteString(strings.TrimSuffix(w.scalar(name, indentation), "\n") + ":")
		switch inner := entries[name].(type) {
		case map[string]any:
			w.nested(inner, len(inner), indentation+indentWidth)
		case []any:
			w.nested(inner, len(inner), indentation)
		default:
			w.write(inner, indentation, " ")
		}
	}
}

// indentWidth is the indentation of a map in a map. A list in a map is not indented.
const indentWidth = 2

// nested writes a map or a list after a key: on separate lines, unless it is empty.
func (w *blockWriter) nested(inner any, length, indentation int) {
	if length > 0 {
		w.text.WriteString("\n" + strings.Repeat(" ", indentation))
	}
	w.write(inner, indentation, " ")
}

func (w *blockWriter) items(items []any, indentation int) {
	for i, item := range items {
		if i > 0 {
			w.text.WriteString(strings.Repeat(" ", indentation))
		}
		w.text.WriteString("- ")
		switch item.(type) {
		case map[string]any, []any:
			w.write(item, indentation+indentWidth, "")
		default:
			w.write(item, indentation, "")
		}
	}
}

var (
	// plainWord matches texts that need no quotes, unless they are words with a special meaning.
	plainWord = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9/._-]*$`)
	// timeOfDay matches texts that some readers interpret as base-60 numbers.
	timeOfDay = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$`)
)

var wordsOfYAML = []string{"true", "false", "yes", "no", "on", "off", "null", "y", "n"}

func needsNoQuotes(text string) bool {
	return timeOfDay.MatchString(text) || plainWord.MatchString(text) && !slices.Contains(wordsOfYAML, strings.ToLower(text))
}

// scalar writes a simple value followed by a line feed.
func (w *blockWriter) scalar(plain any, indentation int) string {
	if text, isText := plain.(string); isText && needsNoQuotes(text) {
		return text + "\n"
	} else if isText && strings.IndexFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
		return escaped(text) + "\n"
	}
	encoded, err := yaml.Marshal(plain)
	if err != nil {
		w.failed = true
		return ""
	}
	head, lines, several := strings.Cut(strings.TrimSuffix(string(encoded), "\n"), "\n")
	if !several || !strings.HasPrefix(head, "|") {
		return string(encoded)
	}
	if strings.HasSuffix(head, "|") || head == "|2" {
		head += "+"
	}
	return head + "\n" + indented(lines, indentation, strings.Count(string(encoded), "\n")-strings.Count(lines, "\n")-1)
}

// indented indents the non-empty lines of a text, and ends the last one. It restores line feeds that were cut off from the
// end.
func indented(text string, indentation, cut int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = strings.Repeat(" ", indentation) + line
		}
	}
	return strings.Join(lines, "\n") + strings.Repeat("\n", max(cut, 1))
}

// escaped writes a double-quoted text, in ASCII.
func escaped(text string) string {
	var all strings.Builder
	all.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			all.WriteString("\\" + string(r))
		case r == '\n':
			all.WriteString(`\n`)
		case r == '\t':
			all.WriteString(`\t`)
		case r == '\r':
			all.WriteString(`\r`)
		case r >= ' ' && r < unicode.MaxASCII:
			all.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&all, `\x%02X`, r)
		case r <= 0xffff:
			fmt.Fprintf(&all, `\u%04X`, r)
		default:
			fmt.Fprintf(&all, `\U%08X`, r)
		}
	}
	all.WriteByte('"')
	return all.String()
}
