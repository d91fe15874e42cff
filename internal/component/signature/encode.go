// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
)

// entries encodes JSON in which every object is a list of objects with one field each, in order of their names.
func entries(value any) ([]byte, error) {
	return json.Marshal(asEntries(value))
}

func asEntries(value any) any {
	switch v := value.(type) {
	case map[string]any:
		list := make([]any, 0, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			list = append(list, map[string]any{key: asEntries(v[key])})
		}
		return list
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = asEntries(item)
		}
		return list
	case int64:
		return float64(v)
	}
	return value
}

// canonical encodes JSON as in RFC 8785.
func canonical(value any) ([]byte, error) {
	var buffer bytes.Buffer
	if err := writeCanonical(&buffer, value); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

func writeCanonical(into *bytes.Buffer, value any) error {
	switch v := value.(type) {
	case nil:
		into.WriteString("null")
	case bool:
		into.WriteString(strconv.FormatBool(v))
	case string:
		writeString(into, v)
	case int64:
		return writeNumber(into, float64(v))
	case float64:
		return writeNumber(into, v)
	case []any:
		return writeList(into, v)
	case map[string]any:
		return writeObject(into, v)
	default:
		return fmt.Errorf("a value of type %T cannot be converted to JSON", value)
	}
	return nil
}

func writeList(into *bytes.Buffer, list []any) error {
	into.WriteByte('[')
	for i, item := range list {
		if i > 0 {
			into.WriteByte(',')
		}
		if err := writeCanonical(into, item); err != nil {
			return err
		}
	}
	into.WriteByte(']')
	return nil
}

func writeObject(into *bytes.Buffer, object map[string]any) error {
	into.WriteByte('{')
	for i, key := range slices.SortedFunc(maps.Keys(object), compareUTF16) {
		if i > 0 {
			into.WriteByte(',')
		}
		writeString(into, key)
		into.WriteByte(':')
		if err := writeCanonical(into, object[key]); err != nil {
			return err
		}
	}
	into.WriteByte('}')
	return nil
}

// compareUTF16 compares strings by their UTF-16 code units, whose order differs from that of runes beyond the first plane.
func compareUTF16(a, b string) int {
	return slices.CompareFunc(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)), cmp.Compare[uint16])
}

// writeNumber writes a number as JavaScript does, which is what encoding/json does for floats.
func writeNumber(into *bytes.Buffer, number float64) error {
	if number == 0 {
		number = math.Abs(number) // negative zero becomes zero
	}
	text, err := json.Marshal(number)
	into.Write(text)
	return err
}

var escapes = map[rune]string{
	'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`,
}

// writeString escapes only what must be escaped.
func writeString(into *bytes.Buffer, text string) {
	into.WriteByte('"')
	for _, r := range text {
		escape, special := escapes[r]
		switch {
		case special:
			into.WriteString(escape)
		case r < 0x20:
			fmt.Fprintf(into, `\u%04x`, r)
		default:
			into.WriteRune(r)
		}
	}
	into.WriteByte('"')
}
