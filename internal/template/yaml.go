// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"encoding/base64"
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

const (
	// costOfYAML is the minimum cost of reading or writing YAML in steps.
	costOfYAML = 60
	// yamlBytesPerStep is the number of bytes of YAML read or written per step.
	yamlBytesPerStep = 8
)

// DecodeYAML returns the plain value of a YAML document, such as the output of a template. Scalars have the same meaning as
// in manifests: yes, no, on and off are booleans, dates are strings, a key is a string even if it looks like a number. A
// number written as a fraction stays one, even 2.0.
func DecodeYAML(text string, limits Limits) (any, error) {
	return NewMeter(limits).DecodeYAML(text)
}

// DecodeYAML is DecodeYAML on an existing meter.
func (m *Meter) DecodeYAML(text string) (any, error) {
	return m.DecodeYAMLPlaces(text, nil)
}

// DecodeYAMLPlaces is DecodeYAML that also reports where strings are: it calls note for every string value, with its path
// and its place.
func (m *Meter) DecodeYAMLPlaces(text string, note func(value, path string, line, column int)) (any, error) {
	if err := m.Step(costOfYAML + int64(len(text))/yamlBytesPerStep); err != nil {
		return nil, err
	}
	document, err := parseYAML(text)
	if err != nil || document == nil {
		return nil, err
	}
	d := yamlDecoder{meter: m, note: note}
	return d.value(document, "", 0)
}

// DecodeYAMLDocuments returns the plain values of all documents of a text. Empty documents at the end are ignored.
func (m *Meter) DecodeYAMLDocuments(text string) ([]any, error) {
	if err := m.Step(costOfYAML + int64(len(text))/yamlBytesPerStep); err != nil {
		return nil, err
	}
	documents, err := parseDocuments(text)
	if err != nil {
		return nil, err
	}
	values := make([]any, len(documents))
	for i := range documents {
		if isEmpty(&documents[i]) {
			continue
		}
		if values[i], err = (yamlDecoder{meter: m}).value(documents[i].Content[0], "", 0); err != nil {
			return nil, err
		}
	}
	for len(values) > 1 && values[len(values)-1] == nil {
		values = values[:len(values)-1]
	}
	return values, nil
}

func parseDocuments(text string) (documents []yamlv3.Node, err error) {
	defer func() {
		if recover() != nil {
			documents, err = nil, Problemf("the text is not valid YAML")
		}
	}()
	decoder := yamlv3.NewDecoder(strings.NewReader(text))
	for {
		var next yamlv3.Node
		switch err := decoder.Decode(&next); {
		case errors.Is(err, io.EOF):
			return documents, nil
		case err != nil:
			return nil, yamlProblem(err)
		}
		documents = append(documents, next)
	}
}

// parseYAML returns the only document of a text, or nil if the text is empty.
func parseYAML(text string) (document *yamlv3.Node, err error) {
	defer func() {
		if recover() != nil {
			document, err = nil, Problemf("the text is not valid YAML")
		}
	}()
	decoder := yamlv3.NewDecoder(strings.NewReader(text))
	for {
		var next yamlv3.Node
		err := decoder.Decode(&next)
		switch {
		case errors.Is(err, io.EOF):
			return document, nil
		case err != nil:
			return nil, yamlProblem(err)
		case isEmpty(&next):
		case document != nil:
			return nil, Problemf("there is more than one YAML document in the text (line %d)", next.Content[0].Line)
		default:
			document = next.Content[0]
		}
	}
}

func isEmpty(document *yamlv3.Node) bool {
	return len(document.Content) == 0 || document.Content[0].ShortTag() == "!!null"
}

// yamlComplaints are the parser's messages that quote nothing.
var yamlComplaints = []string{
	"mapping values are not allowed in this context",
	"mapping keys are not allowed in this context",
	"block sequence entries are not allowed in this context",
	"could not find expected ':'",
	"did not find expected key",
	"did not find expected '-' indicator",
	"did not find expected ',' or ']'",
	"did not find expected ',' or '}'",
	"did not find expected <document start>",
	"did not find expected node content",
	"found character that cannot start any token",
	"found a tab character that violates indentation",
	"found unexpected end of stream",
	"found unexpected document indicator",
	"found unknown escape character",
	"control characters are not allowed",
}

var yamlErrorForm = regexp.MustCompile("^yaml: (?:line ([0-9]+): )?(.*)")

func yamlProblem(err error) error {
	text := "the text is not valid YAML"
	form := yamlErrorForm.FindStringSubmatch(err.Error())
	if form == nil {
		return Problemf("%s", text)
	}
	if form[1] != "" {
		text += ", line " + form[1]
	}
	if slices.Contains(yamlComplaints, form[2]) {
		text += ": " + form[2]
	}
	return Problemf("%s", text)
}

type yamlDecoder struct {
	meter *Meter
	note  func(value, path string, line, column int)
}

func (d yamlDecoder) value(node *yamlv3.Node, path string, level int) (any, error) {
	if err := d.meter.Nested(level); err != nil {
		return nil, err
	}
	if err := d.meter.Build(sizeOfItem + int64(len(node.Value))); err != nil {
		return nil, err
	}
	switch node.Kind {
	case yamlv3.AliasNode:
		return d.value(node.Alias, path, level+1)
	case yamlv3.MappingNode:
		return d.mapping(node, path, level)
	case yamlv3.SequenceNode:
		return d.sequence(node, path, level)
	}
	value, err := yamlScalar(node)
	if text, ok := value.(string); ok && d.note != nil {
		d.note(text, path, node.Line, node.Column)
	}
	return value, err
}

func (d yamlDecoder) sequence(node *yamlv3.Node, path string, level int) (any, error) {
	list := make([]any, len(node.Content))
	for i, item := range node.Content {
		value, err := d.value(item, d.indexed(path, i), level+1)
		if err != nil {
			return nil, err
		}
		list[i] = value
	}
	return list, nil
}

// indexed and named extend a path, if paths are needed.
func (d yamlDecoder) indexed(path string, index int) string {
	if d.note == nil {
		return ""
	}
	return path + "[" + strconv.Itoa(index) + "]"
}

func (d yamlDecoder) named(path, name string) string {
	if d.note == nil {
		return ""
	}
	return JoinPath(path, name)
}

func (d yamlDecoder) mapping(node *yamlv3.Node, path string, level int) (any, error) {
	entries := make(map[string]any, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, content := node.Content[i], node.Content[i+1]
		if mergesKeys(key, content) {
			continue
		}
		name, err := yamlKey(key)
		if err != nil {
			return nil, err
		}
		if entries[name], err = d.value(content, d.named(path, name), level+1); err != nil {
			return nil, err
		}
	}
	return entries, d.mergeKeys(entries, node, path, level)
}

// mergeKeys adds the entries that << merges in. The mapping's own entries take precedence, and earlier sources over later
// ones.
func (d yamlDecoder) mergeKeys(entries map[string]any, node *yamlv3.Node, path string, level int) error {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if !mergesKeys(node.Content[i], node.Content[i+1]) {
			continue
		}
		sources := []*yamlv3.Node{node.Content[i+1]}
		if sources[0].Kind == yamlv3.SequenceNode {
			sources = sources[0].Content
		}
		for _, source := range sources {
			if err := d.mergeSource(entries, source, path, level); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d yamlDecoder) mergeSource(entries map[string]any, source *yamlv3.Node, path string, level int) error {
	value, err := d.value(source, path, level+1)
	if err != nil {
		return err
	}
	merged, ok := value.(map[string]any)
	if !ok {
		return Problemf("the text is not valid YAML, line %d: only mappings can be merged", source.Line)
	}
	for name, item := range merged {
		if _, exists := entries[name]; !exists {
			entries[name] = item
		}
	}
	return nil
}

// mergesKeys reports whether a key is YAML's merge key, not an entry that is just called <<: the value of a merge key is not a scalar.
func mergesKeys(key, content *yamlv3.Node) bool {
	return key.ShortTag() == "!!merge" && content.Kind != yamlv3.ScalarNode
}

func yamlKey(key *yamlv3.Node) (string, error) {
	if key.Kind == yamlv3.AliasNode {
		key = key.Alias
	}
	if key.Kind != yamlv3.ScalarNode {
		return "", Problemf("the text is not valid YAML, line %d: a key must be a scalar", key.Line)
	}
	return key.Value, nil
}

// legacyBooleans are booleans in YAML 1.1, the language of manifests, but strings for the parser.
var legacyBooleans = map[string]bool{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
}

func yamlScalar(node *yamlv3.Node) (any, error) {
	switch node.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		return decodeScalar[bool](node)
	case "!!int":
		if i, err := decodeScalar[int64](node); err == nil {
			return i, nil
		}
		return decodeFloat(node)
	case "!!float":
		return decodeFloat(node)
	case "!!binary":
		return decodeBinary(node)
	}
	if value, ok := legacyBooleans[node.Value]; ok && node.Style == 0 {
		return value, nil
	}
	return node.Value, nil
}

func decodeScalar[T any](node *yamlv3.Node) (any, error) {
	var value T
	if node.Decode(&value) != nil {
		return nil, Problemf("the text is not valid YAML, line %d: the scalar does not fit its tag", node.Line)
	}
	return value, nil
}

func decodeFloat(node *yamlv3.Node) (any, error) {
	value, err := decodeScalar[float64](node)
	if err != nil {
		return nil, err
	}
	f := value.(float64)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, Problemf("line %d of the YAML text has a number that JSON does not support", node.Line)
	}
	return f, nil
}

func decodeBinary(node *yamlv3.Node) (any, error) {
	content, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(node.Value), ""))
	if err != nil {
		return nil, Problemf("the text is not valid YAML, line %d: the scalar does not fit its tag", node.Line)
	}
	if !utf8.Valid(content) {
		return nil, Problemf("line %d of the YAML text has binary data, which JSON does not support", node.Line)
	}
	return string(content), nil
}

// WriteYAML charges for writing a value as YAML, without the text itself.
func (m *Meter) WriteYAML(value any) error {
	_, before := m.Used()
	if err := m.Measure(value); err != nil {
		return err
	}
	_, after := m.Used()
	return m.Step(costOfYAML + (after-before)/yamlBytesPerStep)
}

// EncodeYAML encodes a plain value as YAML, with sorted keys.
func (m *Meter) EncodeYAML(value any) (string, error) {
	if err := m.WriteYAML(value); err != nil {
		return "", err
	}
	text, err := yaml.Marshal(value)
	if err != nil {
		return "", Problemf("the value has no YAML form")
	}
	return string(text), m.Build(int64(len(text)))
}

// JoinPath appends the name of an entry to a path.
func JoinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
