// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"espalier.dev/internal/lint"
)

// specFolder contains the pages with requirements.
const specFolder = "docs/spec"

// Spec is one page of requirements.
type Spec struct {
	Path         string
	Title        string
	Requirements []Requirement
}

// Requirement is one numbered demand.
type Requirement struct {
	ID    string
	Title string
}

var requirementLine = regexp.MustCompile(`^- \*\*([A-Z]{3}-[0-9]{2}) (.+?)\*\*`)

// ReadSpecs returns the pages with requirements in the order of their names, and an error if two requirements have the same ID.
func ReadSpecs(tree *lint.Tree) ([]Spec, error) {
	var specs []Spec
	home := map[string]string{}
	for _, file := range tree.Files {
		if file.Dir() != specFolder || path.Ext(file.Path) != ".md" {
			continue
		}
		spec := parseSpec(file)
		for _, requirement := range spec.Requirements {
			if home[requirement.ID] != "" {
				return nil, fmt.Errorf("%s is defined in %s and again in %s", requirement.ID, home[requirement.ID], file.Path)
			}
			home[requirement.ID] = file.Path
		}
		if len(spec.Requirements) > 0 {
			specs = append(specs, spec)
		}
	}
	return specs, nil
}

func parseSpec(file *lint.File) Spec {
	spec := Spec{Path: file.Path}
	for text := range bytes.Lines(file.Text) {
		line := strings.TrimRight(string(text), "\n")
		if heading, ok := strings.CutPrefix(line, "# "); ok && spec.Title == "" {
			spec.Title = heading
		}
		if match := requirementLine.FindStringSubmatch(line); match != nil {
			spec.Requirements = append(spec.Requirements, Requirement{ID: match[1], Title: strings.TrimSuffix(match[2], ".")})
		}
	}
	return spec
}

// idsOf returns all IDs of the specs.
func idsOf(specs []Spec) []string {
	var ids []string
	for _, spec := range specs {
		for _, requirement := range spec.Requirements {
			ids = append(ids, requirement.ID)
		}
	}
	return ids
}

// prefixesOf returns the prefixes of IDs, so that "UTF-16" in a test is not mistaken for a requirement.
func prefixesOf(specs []Spec) []string {
	var prefixes []string
	for _, id := range idsOf(specs) {
		prefix, _, _ := strings.Cut(id, "-")
		if !slices.Contains(prefixes, prefix) {
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes
}
