// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxContent limits the size of parsed content. A kubeconfig with a bundle of certificate authorities has some ten thousand
// bytes.
const maxContent = 256 << 10

// node is a part of a YAML or JSON document and its path. It is read strictly: content that two parsers could interpret differently is an
// error. No error contains a value.
type node struct {
	yaml *yaml.Node
	path string
}

// parseDocument parses the only document of raw. The path is the name of the whole in errors.
func parseDocument(raw []byte, path string) (node, error) {
	if len(raw) > maxContent {
		return node{}, invalid("%s has more than %d bytes: remove what does not belong to the cluster", path, maxContent)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(raw))
	var document, second yaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) || err == nil && len(document.Content) != 1 {
		return node{}, invalid("%s is empty", path)
	}
	if err != nil {
		return node{}, invalid("%s is neither YAML nor JSON%s", path, lineOf(err))
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return node{}, invalid("%s contains more than one document: keep only one", path)
	}
	return node{yaml: document.Content[0], path: path}, nil
}

var linePattern = regexp.MustCompile(`line [0-9]+`)

// lineOf keeps the position of a syntax error and drops the rest, which may quote the text.
func lineOf(err error) string {
	if line := linePattern.FindString(err.Error()); line != "" {
		return ": look at " + line
	}
	return ""
}

func (n node) child(key string, value *yaml.Node) node {
	return node{yaml: value, path: n.path + "." + key}
}

// blank reports whether the value has the same meaning as its absence for every reader.
func (n node) blank() bool {
	if n.yaml == nil {
		return true
	}
	if n.yaml.Kind != yaml.ScalarNode {
		return false
	}
	switch n.yaml.ShortTag() {
	case "!!null":
		return true
	case "!!str":
		return n.yaml.Value == ""
	case "!!bool":
		var value bool
		return n.yaml.Decode(&value) == nil && !value
	}
	return false
}

// isText reports whether the value is a string.
func (n node) isText() bool {
	return n.yaml != nil && n.yaml.Kind == yaml.ScalarNode && n.yaml.ShortTag() == "!!str"
}

// text returns a string; empty if the value is absent or null.
func (n node) text() (string, error) {
	if n.yaml == nil || n.yaml.Kind == yaml.ScalarNode && n.yaml.ShortTag() == "!!null" {
		return "", nil
	}
	if !n.isText() {
		return "", invalid("%s is not a text: put the value into quotes", n.path)
	}
	return n.yaml.Value, nil
}

// field is one entry of a mapping.
type field struct {
	key   string
	value node
}

// fields returns the entries of a mapping in order; none for a null value.
func (n node) fields() ([]field, error) {
	if n.yaml == nil || n.blank() && !n.isText() {
		return nil, nil
	}
	if n.yaml.Kind != yaml.MappingNode {
		return nil, invalid("%s is not an object", n.path)
	}
	seen := map[string]bool{}
	var result []field
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		key, value := n.yaml.Content[i], n.yaml.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" {
			return nil, invalid("%s has a key that is not a plain text in line %d", n.path, key.Line)
		}
		if seen[key.Value] {
			return nil, invalid("%s.%s appears twice: keep only one", n.path, shown(key))
		}
		seen[key.Value] = true
		entry := n.child(shown(key), value)
		if value.Kind == yaml.AliasNode {
			return nil, invalid("%s is a YAML alias: use the value itself", entry.path)
		}
		result = append(result, field{key: key.Value, value: entry})
	}
	return result, nil
}

// set sets a key of a mapping to a text, replacing its value. Any other node stays unchanged.
func (n node) set(key, text string) {
	if n.yaml.Kind != yaml.MappingNode {
		return
	}
	value := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		if n.yaml.Content[i].Value == key {
			n.yaml.Content[i+1] = value
			return
		}
	}
	n.yaml.Content = append(n.yaml.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
}

// items returns the elements of a list.
func (n node) items() ([]node, error) {
	if n.blank() {
		return nil, nil
	}
	if n.yaml.Kind != yaml.SequenceNode {
		return nil, invalid("%s is not a list", n.path)
	}
	var result []node
	for i, item := range n.yaml.Content {
		entry := node{yaml: item, path: fmt.Sprintf("%s[%d]", n.path, i)}
		if item.Kind == yaml.AliasNode {
			return nil, invalid("%s is a YAML alias: use the value itself", entry.path)
		}
		result = append(result, entry)
	}
	return result, nil
}

// shown returns a key in the form for errors: its name if kubeconfigs have such a key, otherwise its position, because it
// may be a misplaced value.
func shown(key *yaml.Node) string {
	if !known[strings.ToLower(key.Value)] {
		return fmt.Sprintf("<key in line %d>", key.Line)
	}
	return key.Value
}
