// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
)

// Plain returns a copy of a value that consists only of plain JSON values. Every number without a fraction is an int64 if it
// fits: otherwise, a million from JSON would be written as 1e+06.
//
// The copy shares nothing with the value, so that a template can modify it safely.
func Plain(value any, limits Limits) (any, error) {
	return plain(value, 0, limits.WithDefaults())
}

// PlainMap is Plain for bindings. A nil map becomes an empty one.
func PlainMap(values map[string]any, limits Limits) (map[string]any, error) {
	copied, err := plainMap(values, 0, limits.WithDefaults())
	if err != nil {
		return nil, err
	}
	return copied.(map[string]any), nil
}

func plain(value any, level int, limits Limits) (any, error) {
	switch v := value.(type) {
	case nil, bool, string, int64:
		return v, nil
	case float64:
		return PlainFloat(v), nil
	case map[string]any:
		return plainMap(v, level, limits)
	case []any:
		return plainList(v, level, limits)
	case json.Number:
		number, err := decodeNumber(v)
		if f, ok := number.(float64); ok {
			return PlainFloat(f), err
		}
		return number, err
	default:
		return plainOther(value, level, limits)
	}
}

func plainMap(values map[string]any, level int, limits Limits) (any, error) {
	if level >= limits.Nesting {
		return nil, limitError("Nesting", int64(limits.Nesting), hintNesting)
	}
	copied := make(map[string]any, len(values))
	for key, value := range values {
		item, err := plain(value, level+1, limits)
		if err != nil {
			return nil, err
		}
		copied[key] = item
	}
	return copied, nil
}

func plainList(values []any, level int, limits Limits) (any, error) {
	if level >= limits.Nesting {
		return nil, limitError("Nesting", int64(limits.Nesting), hintNesting)
	}
	copied := make([]any, len(values))
	for i, value := range values {
		item, err := plain(value, level+1, limits)
		if err != nil {
			return nil, err
		}
		copied[i] = item
	}
	return copied, nil
}

// PlainFloat returns an int64 if the number has no fraction and fits.
func PlainFloat(f float64) any {
	const limit = 1 << 63
	if f == math.Trunc(f) && f > -limit && f < limit {
		return int64(f)
	}
	return f
}

// decodeNumber returns an integer only if it is written as one.
func decodeNumber(n json.Number) (any, error) {
	if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return i, nil
	}
	f, err := strconv.ParseFloat(n.String(), 64)
	if err != nil {
		return nil, Problemf("a number is out of range")
	}
	return f, nil
}

// plainOther converts values that are not plain yet. Typed numbers are converted directly, everything else through JSON.
func plainOther(value any, level int, limits Limits) (any, error) {
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if v.Uint() <= math.MaxInt64 {
			return int64(v.Uint()), nil
		}
		return float64(v.Uint()), nil
	case reflect.Float32, reflect.Float64:
		return PlainFloat(v.Float()), nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, Problemf("a value of type %T has no JSON form", value)
	}
	decoded, err := DecodeJSON(text)
	if err != nil {
		return nil, err
	}
	return plain(decoded, level, limits)
}

// DecodeJSON returns the plain value of a JSON text. A number written as a fraction stays one, even 2.0.
func DecodeJSON(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, Problemf("the text is not valid JSON")
	}
	if decoder.More() {
		return nil, Problemf("there is more than one JSON value in the text")
	}
	return decodeNumbers(value)
}

// decodeNumbers replaces the numbers of a freshly decoded value in place.
func decodeNumbers(value any) (any, error) {
	switch v := value.(type) {
	case json.Number:
		return decodeNumber(v)
	case map[string]any:
		for key, item := range v {
			converted, err := decodeNumbers(item)
			if err != nil {
				return nil, err
			}
			v[key] = converted
		}
	case []any:
		for i, item := range v {
			converted, err := decodeNumbers(item)
			if err != nil {
				return nil, err
			}
			v[i] = converted
		}
	}
	return value, nil
}

// FormatFloat formats a number as in JSON: without an exponent unless it is very large or very small.
func FormatFloat(f float64) string {
	format := byte('f')
	if magnitude := math.Abs(f); magnitude != 0 && (magnitude < 1e-6 || magnitude >= 1e21) {
		format = 'e'
	}
	return strconv.FormatFloat(f, format, -1, 64)
}
