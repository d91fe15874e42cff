// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

const field = "$promotion"

// Marker names the environment of a pipeline whose revision a scalar holds.
type Marker struct {
	Namespace, Pipeline, Environment string
}

// name is what the marker says, apart from the JSON around it.
func (m Marker) name() string { return m.Namespace + ":" + m.Pipeline + ":" + m.Environment }

// String returns the comment that marks a scalar, without the number sign.
func (m Marker) String() string { return fmt.Sprintf("{%q: %s}", field, quoteJSON(m.name())) }

// quoteJSON keeps characters as people write them: "<" stays "<".
func quoteJSON(text string) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text)
	return strings.TrimSpace(out.String())
}

// Applies tells by its name whether a file is looked into.
func Applies(file string) bool {
	extension := path.Ext(file)
	return extension == ".yaml" || extension == ".yml"
}

// Mentions tells, without reading the YAML, whether a file can contain this marker at all.
func (m Marker) Mentions(content []byte) bool {
	return bytes.Contains(content, []byte(`"`+field+`"`)) && bytes.Contains(content, []byte(quoteJSON(m.name())))
}

// Problem says why a file with the marker cannot be rewritten, and where.
type Problem struct {
	File string
	// Line counts from 1; zero if it is not known.
	Line    int
	Message string
}

// Error begins with the place, as compilers do.
func (p *Problem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}

// CheckRevision reports whether a revision can be written into a file at all.
func CheckRevision(revision string) error {
	switch {
	case revision == "":
		return errors.New("the revision is empty")
	case !utf8.ValidString(revision) || strings.ContainsFunc(revision, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("revision %q contains characters that cannot be printed", revision)
	case len(revision) > maxRevision:
		return fmt.Errorf("the revision is longer than %d bytes", maxRevision)
	}
	return nil
}

const maxRevision = 1024

// read reports whether the text of a comment, which begins with a number sign, is this marker. The error is for a comment that is meant
// to be it and is no JSON.
func (m Marker) read(comment string) (bool, error) {
	text := strings.TrimSpace(strings.TrimLeft(comment, "#"))
	if !m.Mentions([]byte(text)) {
		return false, nil
	}
	var content map[string]any
	if err := json.Unmarshal([]byte(text), &content); err != nil {
		return false, fmt.Errorf("the comment mentions the marker but is not JSON: write it as # %s", m)
	}
	return content[field] == m.name(), nil
}
