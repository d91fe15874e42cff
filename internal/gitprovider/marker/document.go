// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// place is the position of a value in a file: an entry of a mapping, an item of a sequence, or a whole document. The value of an entry
// follows its key.
type place struct {
	value *yaml.Node
	// index of the value among all nodes of the file.
	index int
	// begins is the start of the key, or of the value if it has none.
	begins int
	// key is the span of the key, if it is a scalar.
	key span
	// span of the value, if it is a scalar or an alias.
	span span
}

// document is a parsed file.
type document struct {
	text   *text
	nodes  []*yaml.Node
	places []place
	// scalars are all spans of scalars, keys included.
	scalars []span
	// lost is a scalar that could not be located in the text.
	lost *yaml.Node
}

var (
	yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)
	// grammarError matches errors for which the YAML library counts lines from zero, unlike for others.
	grammarError = regexp.MustCompile(`did not find expected (key|',' or '[]}]'|node content|'-' indicator|<document start>)`)
)

// unreadable converts an error of the YAML library into one with a file and a line.
func unreadable(file string, err error) *Problem {
	message, line := err.Error(), 1
	if parts := yamlError.FindStringSubmatch(message); parts != nil {
		message = parts[2]
		if parts[1] != "" {
			line, _ = strconv.Atoi(parts[1])
			if grammarError.MatchString(message) {
				line++
			}
		}
	}
	return &Problem{File: file, Line: line, Message: "the file mentions the marker but is not valid YAML: " + message}
}

// parse parses all documents of a file.
func parse(file string, content []byte) (*document, error) {
	d := &document{text: newText(string(content))}
	decoder := yaml.NewDecoder(strings.NewReader(d.text.content))
	for {
		var root yaml.Node
		err := decoder.Decode(&root)
		if errors.Is(err, io.EOF) {
			return d, nil
		}
		if err != nil {
			return nil, unreadable(file, err)
		}
		for _, child := range root.Content {
			d.add(child, nil)
		}
	}
}

// add records a value and its key, in the order of the file.
func (d *document) add(value, key *yaml.Node) {
	p := place{value: value}
	if key != nil {
		p.key = d.note(key)
		d.visit(key)
	}
	p.index = len(d.nodes)
	p.span = d.note(value)
	p.begins = d.begin(value)
	if key != nil {
		p.begins = d.begin(key)
	}
	d.places = append(d.places, p)
	d.visit(value)
}

// note records a node, and its span if it is a scalar.
func (d *document) note(node *yaml.Node) span {
	d.nodes = append(d.nodes, node)
	if node.Kind != yaml.ScalarNode && node.Kind != yaml.AliasNode {
		return span{}
	}
	found, ok := d.text.locate(node)
	if !ok {
		d.lost = node
		return span{}
	}
	d.scalars = append(d.scalars, found)
	return found
}

func (d *document) visit(node *yaml.Node) {
	switch node.Kind {
	case yaml.SequenceNode:
		for _, item := range node.Content {
			d.add(item, nil)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			d.add(node.Content[i+1], node.Content[i])
		}
	}
}

func (d *document) begin(node *yaml.Node) int {
	offset, _ := d.text.offset(node.Line, node.Column)
	return offset
}
