// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/util/yaml"
)

var (
	errNotJSON = errors.New("it is not valid JSON")
	errNotYAML = errors.New("it is not valid YAML")
)

// decodeJSON returns the value that a JSON text describes: nil, bool, int64, float64, string, []any and map[string]any. Numbers without a
// fraction are int64 if they fit, so that no digits are lost. An empty text is null.
func decodeJSON(text []byte) (any, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, errNotJSON
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errNotJSON
	}
	return plainNumbers(value)
}

// plainNumbers replaces the numbers of a freshly decoded value in place.
func plainNumbers(value any) (any, error) {
	var err error
	switch v := value.(type) {
	case json.Number:
		return plainNumber(v.String())
	case map[string]any:
		for key, inner := range v {
			if v[key], err = plainNumbers(inner); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, inner := range v {
			if v[i], err = plainNumbers(inner); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

func plainNumber(text string) (any, error) {
	if whole, err := strconv.ParseInt(text, 10, 64); err == nil {
		return whole, nil
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, errors.New("it contains a number that is out of range")
	}
	const limit = 1 << 63
	if number == math.Trunc(number) && number >= -limit && number < limit {
		return int64(number), nil
	}
	return number, nil
}

// decodeYAML returns the value that a YAML text describes. It drops the parser's message, because it quotes the text.
func decodeYAML(text []byte) (any, error) {
	var value any
	if err := yaml.Unmarshal(text, &value); err != nil {
		return nil, errNotYAML
	}
	return normal(value)
}

// DecodeContent returns the value of an import that is a key of a Secret or ConfigMap with this content.
func DecodeContent(text []byte) (any, error) { return decodeYAML(text) }

// decodeEach reads every entry of a Secret or ConfigMap as YAML.
func decodeEach(content map[string][]byte) (any, error) {
	result := make(map[string]any, len(content))
	for _, key := range sorted(maps.Keys(content)) {
		value, err := decodeYAML(content[key])
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", key, err)
		}
		result[key] = value
	}
	return result, nil
}

// normal returns a copy of a value as decodeJSON would return it, regardless of the types it was built from.
func normal(value any) (any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, errors.New("it has no JSON form")
	}
	return decodeJSON(text)
}
