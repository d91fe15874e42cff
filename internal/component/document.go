// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	yaml "go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
)

// readDocument reads a JSON or YAML document within limits. Numbers become int64 if they are integers and fit, otherwise float64, so that
// the result does not depend on the notation of a number.
//
// Only the YAML that JSON can express is accepted, as OCM requires. In particular there are no anchors and aliases, with which a small
// document can expand into a huge one.
func readDocument(data []byte, limits Limits) (any, error) {
	if len(data) > limits.Bytes {
		return nil, fmt.Errorf("the document has %d bytes, at most %d are allowed", len(data), limits.Bytes)
	}
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 {
		return nil, errors.New("the document is empty")
	} else if trimmed[0] != '{' {
		return readYAML(data, limits)
	}
	value, err := readJSON(data, limits)
	if malformed, _ := kjson.SyntaxErrorOffset(err); malformed {
		// A YAML document may also start with a brace.
		return readYAML(data, limits)
	}
	return value, err
}

func readJSON(data []byte, limits Limits) (any, error) {
	if err := measureJSON(data, limits); err != nil {
		return nil, err
	}
	var value any
	duplicates, err := kjson.UnmarshalStrict(data, &value, kjson.DisallowDuplicateFields)
	if err != nil {
		return nil, err
	}
	if len(duplicates) > 0 {
		return nil, errors.Join(duplicates...)
	}
	return wholeNumbers(value), nil
}

// measureJSON counts brackets and commas before anything is allocated for their contents.
func measureJSON(data []byte, limits Limits) error {
	depth, values, inText := 0, 1, false
	for i := 0; i < len(data); i++ {
		if inText {
			switch data[i] {
			case '\\':
				i++
			case '"':
				inText = false
			}
			continue
		}
		switch data[i] {
		case '"':
			inText = true
		case '{', '[':
			depth++
			values++
		case '}', ']':
			depth--
		case ',':
			values++
		}
		if err := limits.check(depth, values); err != nil {
			return err
		}
	}
	return nil
}

func (l Limits) check(depth, values int) error {
	if depth > l.Depth {
		return fmt.Errorf("the document is nested deeper than %d levels", l.Depth)
	}
	if values > l.Values {
		return fmt.Errorf("the document has more than %d values", l.Values)
	}
	return nil
}

// wholeNumbers turns floating-point numbers without a fraction into integers, in place.
func wholeNumbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			v[key] = wholeNumbers(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = wholeNumbers(inner)
		}
	case float64:
		return number(v)
	}
	return value
}

func number(f float64) any {
	if f == math.Trunc(f) && f >= -(1<<63) && f < 1<<63 {
		return int64(f)
	}
	return f
}

// measureYAML counts the separators of values, before anything is allocated for them. It overcounts if a text contains these characters;
// the limits leave room for that.
func measureYAML(data []byte, limits Limits) error {
	separators := 0
	for _, b := range data {
		switch b {
		case '\n', ',', '[', '{':
			separators++
		}
	}
	return limits.check(0, separators)
}

func readYAML(data []byte, limits Limits) (any, error) {
	if err := measureYAML(data, limits); err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, next yaml.Node
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the document is empty")
		}
		return nil, err
	}
	if err := decoder.Decode(&next); err == nil {
		return nil, errors.New("there is more than one document")
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(document.Content) != 1 {
		return nil, errors.New("the document is empty")
	}
	r := yamlReader{limits: limits}
	return r.value(document.Content[0], 0)
}

type yamlReader struct {
	limits Limits
	values int
}

func (r *yamlReader) value(node *yaml.Node, depth int) (any, error) {
	r.values++
	if node.Kind == yaml.MappingNode || node.Kind == yaml.SequenceNode {
		depth++
	}
	if err := r.limits.check(depth, r.values); err != nil {
		return nil, err
	}
	if node.Anchor != "" || node.Kind == yaml.AliasNode {
		return nil, fmt.Errorf("line %d: anchors and aliases are not allowed", node.Line)
	}
	switch node.Kind {
	case yaml.MappingNode:
		return r.object(node, depth)
	case yaml.SequenceNode:
		return r.list(node, depth)
	default:
		return scalar(node)
	}
}

func (r *yamlReader) object(node *yaml.Node, depth int) (any, error) {
	object := make(map[string]any, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if key.Kind != yaml.ScalarNode || key.Anchor != "" || key.ShortTag() == "!!merge" {
			return nil, fmt.Errorf("line %d: the keys of an object must be plain texts", key.Line)
		}
		if _, taken := object[key.Value]; taken {
			return nil, fmt.Errorf("line %d: duplicate key %q", key.Line, key.Value)
		}
		value, err := r.value(node.Content[i+1], depth)
		if err != nil {
			return nil, err
		}
		object[key.Value] = value
	}
	return object, nil
}

func (r *yamlReader) list(node *yaml.Node, depth int) (any, error) {
	list := make([]any, len(node.Content))
	for i, item := range node.Content {
		value, err := r.value(item, depth)
		if err != nil {
			return nil, err
		}
		list[i] = value
	}
	return list, nil
}

// scalar reads a simple value. A date stays a text as written, because JSON has no dates.
func scalar(node *yaml.Node) (any, error) {
	switch tag := node.ShortTag(); tag {
	case "!!str", "!!timestamp":
		return node.Value, nil
	case "!!null":
		return nil, nil
	case "!!bool", "!!int", "!!float":
		var value any
		if err := node.Decode(&value); err != nil {
			return nil, err
		}
		return plainNumber(node, value)
	default:
		return nil, fmt.Errorf("line %d: the tag %s is not allowed", node.Line, tag)
	}
}

func plainNumber(node *yaml.Node, value any) (any, error) {
	switch v := value.(type) {
	case bool:
		return v, nil
	case int:
		return int64(v), nil
	case int64:
		return v, nil
	case uint64:
		return number(float64(v)), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("line %d: %s is not a number", node.Line, node.Value)
		}
		return number(v), nil
	default:
		return nil, fmt.Errorf("line %d: %q is not a JSON value", node.Line, node.Value)
	}
}

// clone copies a JSON value, so that the caller may change it.
func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return cloneObject(v)
	case []any:
		copied := make([]any, len(v))
		for i, inner := range v {
			copied[i] = clone(inner)
		}
		return copied
	default:
		return value
	}
}

func cloneObject(object map[string]any) map[string]any {
	copied := make(map[string]any, len(object))
	for key, value := range object {
		copied[key] = clone(value)
	}
	return copied
}
