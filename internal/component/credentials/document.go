// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"errors"
	"fmt"
	"strconv"

	yaml "go.yaml.in/yaml/v3"
)

const (
	maxBytes = 1 << 20
	maxDepth = 32
)

// readObject reads a document into plain values. Unlike the parser's errors, its own do not quote the document.
func readObject(data []byte) (map[string]any, error) {
	if len(data) > maxBytes {
		return nil, fmt.Errorf("the document has %d bytes, at most %d are read", len(data), maxBytes)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, errors.New("the document is not well-formed YAML or JSON")
	}
	if len(document.Content) == 0 {
		return map[string]any{}, nil
	}
	value, err := plain(document.Content[0], 0)
	if err != nil {
		return nil, err
	}
	switch v := value.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return v, nil
	}
	return nil, errors.New("the document must be an object")
}

// plain converts YAML into objects, lists and strings. Every other scalar becomes a string, so that a port may be in quotes or not.
// Aliases are rejected, because a small document can expand into a huge one.
func plain(node *yaml.Node, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("line %d: the document is nested deeper than %d levels", node.Line, maxDepth)
	}
	switch node.Kind {
	case yaml.MappingNode:
		object := make(map[string]any, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			value, err := plain(node.Content[i+1], depth+1)
			if err != nil {
				return nil, err
			}
			object[node.Content[i].Value] = value
		}
		return object, nil
	case yaml.SequenceNode:
		list := make([]any, len(node.Content))
		for i, item := range node.Content {
			var err error
			if list[i], err = plain(item, depth+1); err != nil {
				return nil, err
			}
		}
		return list, nil
	case yaml.ScalarNode:
		if node.ShortTag() == "!!null" {
			return nil, nil
		}
		return node.Value, nil
	}
	return nil, fmt.Errorf("line %d: aliases are not allowed", node.Line)
}

// fields is an object of a document with the path to it.
type fields struct {
	path   string
	values map[string]any
}

func (f fields) at(name string) string {
	if f.path == "" {
		return name
	}
	return f.path + "." + name
}

// text returns an optional field that must be a string.
func (f fields) text(name string) (string, error) {
	switch value := f.values[name].(type) {
	case nil:
		return "", nil
	case string:
		return value, nil
	}
	return "", fmt.Errorf("%s: must be a text", f.at(name))
}

// texts reads several optional fields that must be strings.
func (f fields) texts(into map[string]*string) error {
	for name, target := range into {
		value, err := f.text(name)
		if err != nil {
			return err
		}
		*target = value
	}
	return nil
}

// object returns an optional field that must be an object.
func (f fields) object(name string) (fields, error) {
	value := f.values[name]
	object, ok := value.(map[string]any)
	if !ok && value != nil {
		return fields{}, fmt.Errorf("%s: must be an object", f.at(name))
	}
	return fields{path: f.at(name), values: object}, nil
}

// list returns an optional field that must be a list of objects.
func (f fields) list(name string) ([]fields, error) {
	value := f.values[name]
	list, ok := value.([]any)
	if !ok && value != nil {
		return nil, fmt.Errorf("%s: must be a list", f.at(name))
	}
	objects := make([]fields, len(list))
	for i, item := range list {
		path := f.at(name) + "[" + strconv.Itoa(i) + "]"
		object, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s: must be an object", path)
		}
		objects[i] = fields{path: path, values: object}
	}
	return objects, nil
}
