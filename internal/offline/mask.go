// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
)

// Mask stands where the value of a Secret would.
const Mask = "<masked>"

const (
	// shortest is how long a text must be to be masked inside of others. Shorter ones are masked where they stand alone.
	shortest = 4
	// shortestLine is the same for a line of a longer text.
	shortestLine = 8
)

// secretValues are the texts that must not be shown: what imported Secrets contain, and kubeconfigs of Targets.
type secretValues struct {
	texts map[string]bool
	// inside replaces texts within others; it is made when it is needed.
	inside *strings.Replacer
}

func newSecretValues() *secretValues { return &secretValues{texts: map[string]bool{}} }

// addFacts adds all that the imports of an installation may reveal.
func (s *secretValues) addFacts(facts dataflow.Facts) {
	for _, content := range facts.Secrets {
		for _, text := range content {
			s.addText(string(text))
		}
	}
	for _, target := range facts.Targets {
		s.addTarget(target)
	}
}

// addTarget adds the kubeconfig in a Target. Of what it consists of only the credentials count alone: its other parts are
// words that everybody uses.
func (s *secretValues) addTarget(target *lsv1alpha1.Target) {
	var config struct {
		Kubeconfig any `json:"kubeconfig"`
	}
	if target.Spec.Configuration == nil || target.Spec.Configuration.Decode(&config) != nil {
		return
	}
	parsed := config.Kubeconfig
	if text, isText := parsed.(string); isText {
		s.add(text)
		if yaml.Unmarshal([]byte(text), &parsed) != nil {
			return
		}
	}
	s.addCredentials(parsed)
}

var credentialKeys = []string{"token", "password", "client-key-data"}

func (s *secretValues) addCredentials(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if text, isText := inner.(string); isText && slices.Contains(credentialKeys, key) {
				s.add(text)
			}
			s.addCredentials(inner)
		}
	case []any:
		for _, inner := range v {
			s.addCredentials(inner)
		}
	}
}

// addText adds the content of a key of a Secret, as a whole and in its parts if it is YAML.
func (s *secretValues) addText(text string) {
	s.add(text)
	for line := range strings.Lines(text) {
		if trimmed := strings.TrimSpace(line); len(trimmed) >= shortestLine {
			s.add(trimmed)
		}
	}
	var value any
	if yaml.Unmarshal([]byte(text), &value) == nil {
		s.addLeaves(value)
	}
}

func (s *secretValues) addLeaves(value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			s.addLeaves(inner)
		}
	case []any:
		for _, inner := range v {
			s.addLeaves(inner)
		}
	case string:
		s.add(v)
	case float64:
		if text := numberText(v); len(text) >= shortest {
			s.add(text)
		}
	}
}

func numberText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

func (s *secretValues) add(text string) {
	text = strings.TrimSpace(text)
	if text == "" || text == "true" || text == "false" || text == "null" {
		return
	}
	s.texts[text] = true
	s.texts[base64.StdEncoding.EncodeToString([]byte(text))] = true
	s.inside = nil
}

// masked returns a copy of a value without the texts, and whether there were any.
func (s *secretValues) masked(value any) (result any, found bool) {
	switch v := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(v))
		for key, inner := range v {
			changed := false
			copied[key], changed = s.masked(inner)
			found = found || changed
		}
		return copied, found
	case []any:
		copied := make([]any, len(v))
		for i, inner := range v {
			changed := false
			copied[i], changed = s.masked(inner)
			found = found || changed
		}
		return copied, found
	case string:
		return s.maskedText(v)
	case int64, float64:
		if text := numberText(v); len(text) >= shortest && s.texts[text] {
			return Mask, true
		}
	}
	return value, false
}

func (s *secretValues) maskedText(text string) (string, bool) {
	if s.texts[strings.TrimSpace(text)] {
		return Mask, true
	}
	if s.inside == nil {
		s.inside = s.replacer()
	}
	result := s.inside.Replace(text)
	return result, result != text
}

// replacer tries longer texts first, so that no rest of one remains.
func (s *secretValues) replacer() *strings.Replacer {
	texts := slices.SortedFunc(maps.Keys(s.texts), func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	var pairs []string
	for _, text := range texts {
		if len(text) >= shortest {
			pairs = append(pairs, text, Mask)
		}
	}
	return strings.NewReplacer(pairs...)
}

// maskAll replaces every value by the mask, and leaves the form.
func maskAll(value any) any {
	switch v := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(v))
		for key, inner := range v {
			copied[key] = maskAll(inner)
		}
		return copied
	case []any:
		copied := make([]any, len(v))
		for i, inner := range v {
			copied[i] = maskAll(inner)
		}
		return copied
	case nil:
		return nil
	}
	return Mask
}
