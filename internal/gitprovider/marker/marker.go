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

// Marker names the environment of a pipeline; its scalar contains the revision of that environment.
type Marker struct {
	Namespace, Pipeline, Environment string
}

// name returns the content of the marker, without the JSON around it.
func (m Marker) name() string { return m.Namespace + ":" + m.Pipeline + ":" + m.Environment }

// String returns the comment that marks a scalar, without the number sign.
func (m Marker) String() string { return fmt.Sprintf("{%q: %s}", field, quoteJSON(m.name())) }

// quoteJSON does not escape HTML: "<" stays "<".
func quoteJSON(text string) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text)
	return strings.TrimSpace(out.String())
}

// Applies reports whether a file is searched, by its name.
func Applies(file string) bool {
	extension := path.Ext(file)
	return extension == ".yaml" || extension == ".yml"
}

// Mentions reports, without parsing the YAML, whether a file can contain this marker.
func (m Marker) Mentions(content []byte) bool {
	return bytes.Contains(content, []byte(`"`+field+`"`)) && bytes.Contains(content, []byte(quoteJSON(m.name())))
}

// Problem describes why a file with the marker cannot be rewritten, and where.
type Problem struct {
	File string
	// Line counts from 1; zero if unknown.
	Line    int
	Message string
}

// Error starts with the position, like compiler errors.
func (p *Problem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}

// CheckRevision returns an error if a revision cannot be written into any file.
func CheckRevision(revision string) error {
	switch {
	case revision == "":
		return errors.New("the revision is empty")
	case !utf8.ValidString(revision) || strings.ContainsFunc(revision, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("revision %q contains non-printable characters", revision)
	case len(revision) > maxRevision:
		return fmt.Errorf("the revision is longer than %d bytes", maxRevision)
	}
	return nil
}

const maxRevision = 1024

// read reports whether the text of a comment, which starts with a number sign, is this marker. It returns an error for a comment that is
// meant to be the marker and is not JSON.
func (m Marker) read(comment string) (bool, error) {
	text := strings.TrimSpace(strings.TrimLeft(comment, "#"))
	if !m.Mentions([]byte(text)) {
		return false, nil
	}
	var content map[string]any
	if err := json.Unmarshal([]byte(text), &content); err != nil {
		return false, fmt.Errorf("the comment mentions the marker but is not JSON: use # %s", m)
	}
	return content[field] == m.name(), nil
}
