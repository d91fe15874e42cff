// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package jsonpath finds values in objects by the paths in readiness checks and exports: kubectl's JSONPath, without the
// braces.
package jsonpath

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

// maxLength bounds the accepted paths.
const maxLength = 1024

// Path is a parsed path. It may be used by one goroutine at a time.
type Path struct{ parsed *jsonpath.JSONPath }

// Parse reads a path such as .status.phase, status.phase or .items[0].name. Braces around it are allowed.
func Parse(path string) (Path, error) {
	if inner, bare := strings.CutPrefix(path, "{"); bare {
		path = strings.TrimSuffix(inner, "}")
	}
	if path == "" {
		return Path{}, errors.New("is empty: use a path like .status.phase")
	}
	if len(path) > maxLength {
		return Path{}, fmt.Errorf("is longer than %d characters", maxLength)
	}
	if strings.ContainsAny(path, "{}") {
		return Path{}, errors.New("contains braces: use a single path like .status.phase")
	}
	if !strings.ContainsAny(path[:1], ".[$@") {
		path = "." + path
	}
	parsed := jsonpath.New("path").AllowMissingKeys(true)
	if err := parsed.Parse("{" + path + "}"); err != nil {
		return Path{}, fmt.Errorf("is not a path like .status.phase: %w", err)
	}
	return Path{parsed: parsed}, nil
}

// Find returns the value at the path, and whether there is one. A path with several values returns them as a list. A null
// counts as no value.
func (p Path) Find(content map[string]any) (any, bool) {
	found := p.results(content)
	switch len(found) {
	case 0:
		return nil, false
	case 1:
		return found[0], found[0] != nil
	}
	return found, true
}

// All returns every value at the path, without nulls.
func (p Path) All(content map[string]any) []any {
	return slices.DeleteFunc(p.results(content), func(value any) bool { return value == nil })
}

func (p Path) results(content map[string]any) []any {
	groups, err := p.parsed.FindResults(content)
	if err != nil {
		return nil
	}
	var found []any
	for _, group := range groups {
		for _, value := range group {
			if value.IsValid() && value.CanInterface() {
				found = append(found, value.Interface())
			}
		}
	}
	return found
}
