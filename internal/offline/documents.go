// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// document is one document of a file, as JSON.
type document struct {
	// at names the file and the position in it, for messages.
	at   string
	json []byte
}

var separator = regexp.MustCompile(`(?m)^---(?:[ \t].*)?\r?$`)

// splitDocuments returns the documents of a file that are not empty.
func splitDocuments(file string, text []byte) ([]document, error) {
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '{' {
		return splitJSON(file, trimmed)
	}
	var documents []document
	number := 0
	for _, part := range cutAtSeparators(text) {
		if onlyComments(part.text) {
			continue
		}
		number++
		at := fmt.Sprintf("%s, document %d", file, number)
		content, err := yaml.YAMLToJSON(part.text)
		if err != nil {
			return nil, fmt.Errorf("%s: %s", at, yamlProblem(err, part.line))
		}
		documents = append(documents, document{at: at, json: content})
	}
	return documents, nil
}

// yamlPart is the text of a document and the number of lines before it.
type yamlPart struct {
	text []byte
	line int
}

func cutAtSeparators(text []byte) []yamlPart {
	var parts []yamlPart
	start, line := 0, 0
	for _, span := range append(separator.FindAllIndex(text, -1), []int{len(text), len(text)}) {
		parts = append(parts, yamlPart{text: text[start:span[0]], line: line})
		line += bytes.Count(text[start:span[1]], []byte("\n"))
		start = span[1]
	}
	return parts
}

func onlyComments(text []byte) bool {
	for line := range bytes.Lines(text) {
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 && trimmed[0] != '#' {
			return false
		}
	}
	return true
}

var yamlLine = regexp.MustCompile(`line (\d+): (.*)`)

// harmless matches the starts of the YAML parser's messages that quote only keys.
var harmless = regexp.MustCompile(`^(mapping values are|did not find|could not find|found |block |key "|cannot start)`)

// yamlProblem says where in the file the YAML is wrong. It omits messages that could quote a value.
func yamlProblem(err error, linesBefore int) string {
	match := yamlLine.FindStringSubmatch(err.Error())
	if match == nil {
		return "it is not valid YAML"
	}
	line, _ := strconv.Atoi(match[1])
	text := fmt.Sprintf("line %d: it is not valid YAML", line+linesBefore)
	if harmless.MatchString(match[2]) {
		text += ": " + match[2]
	}
	return text
}

func splitJSON(file string, text []byte) ([]document, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	var documents []document
	for number := 1; ; number++ {
		at := fmt.Sprintf("%s, document %d", file, number)
		var content json.RawMessage
		err := decoder.Decode(&content)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			line := 1 + bytes.Count(text[:min(int(decoder.InputOffset()), len(text))], []byte("\n"))
			return nil, fmt.Errorf("%s: after line %d: it is not valid JSON", at, line)
		}
		documents = append(documents, document{at: at, json: content})
	}
}

// decodeInto decodes a document into a type of the API. Fields that the type does not have are returned as warnings. Errors name the field
// and no value.
func decodeInto(text []byte, object any) (warnings []string, err error) {
	strict, err := kjson.UnmarshalStrict(text, object)
	if err != nil {
		return nil, errors.New(typeProblem(err))
	}
	for _, warning := range strict {
		warnings = append(warnings, warning.Error()+": it has no effect")
	}
	return warnings, nil
}

func typeProblem(err error) string {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		kind, _, _ := strings.Cut(mismatch.Value, " ")
		return fmt.Sprintf("%s: is of type %s, which does not fit", mismatch.Field, kind)
	}
	return fieldOfUnexpected(err)
}

var goField = regexp.MustCompile(`Go struct field \w+\.([\w.\[\]]+) of type`)

// fieldOfUnexpected finds the field in other messages, without repeating the value that they quote.
func fieldOfUnexpected(err error) string {
	text := err.Error()
	if match := goField.FindStringSubmatch(text); match != nil {
		return match[1] + ": has the wrong type"
	}
	if strings.Contains(text, "base64") {
		return "data: a value is not base64; write plain text under stringData"
	}
	return "a field has a value of the wrong form"
}
