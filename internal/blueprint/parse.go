// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
)

// Blueprint is a parsed and valid blueprint. It is immutable, so that one can serve many installations concurrently.
type Blueprint struct {
	*lsv1alpha1.Blueprint
	Files Files
	// Warnings name what has no effect, such as unused imports.
	Warnings []string

	// tree is set if the blueprint is inline.
	tree *inlineTree

	imports, subinstallations, deployments, exports []executor
}

// inlineTree is a directory both as an installation writes it, and as templates see it, which must not modify it.
type inlineTree struct {
	text  []byte
	plain any
}

// Parse parses the blueprint in a directory. Invalid content and unknown fields are a terminal error that names each of
// them.
func Parse(files Files) (*Blueprint, error) {
	content, err := readFile(files, lsv1alpha1.BlueprintFileName)
	if err != nil {
		return nil, invalid(err)
	}
	b := &Blueprint{Blueprint: &lsv1alpha1.Blueprint{}, Files: files}
	findings, err := decode(content, b.Blueprint)
	if err != nil {
		return nil, invalid(fmt.Errorf("%s: %w", lsv1alpha1.BlueprintFileName, err))
	}
	loaded := b.loadSubinstallations()
	if len(loaded.Errors) > 0 {
		return nil, invalid(errors.New(strings.Join(loaded.Errors, "; ")))
	}
	findings.add(loaded)
	findings.add(Validate(b.Blueprint))
	findings.unusedImports(b)
	b.Warnings = findings.Warnings
	if len(findings.Errors) > 0 {
		return nil, invalid(fmt.Errorf("%s: %s", lsv1alpha1.BlueprintFileName, strings.Join(findings.Errors, "; ")))
	}
	return b, b.compile()
}

// executorList is one list of templates of a blueprint, and the destination of its compiled form.
type executorList struct {
	name      string
	executors []lsv1alpha1.TemplateExecutor
	compiled  *[]executor
}

// importExecutions is the name of the only list whose templates have no state.
const importExecutions = "importExecutions"

func (b *Blueprint) executorLists() []executorList {
	return []executorList{
		{importExecutions, b.ImportExecutions, &b.imports},
		{"subinstallationExecutions", b.SubinstallationExecutions, &b.subinstallations},
		{"deployExecutions", b.DeployExecutions, &b.deployments},
		{"exportExecutions", b.ExportExecutions, &b.exports},
	}
}

// compile compiles all templates, so that a mistake in one is found before any is run.
func (b *Blueprint) compile() error {
	for _, list := range b.executorLists() {
		for i := range list.executors {
			compiled, err := compileExecutor(fmt.Sprintf("%s[%d]", list.name, i), &list.executors[i], b.Files)
			if err != nil {
				return err
			}
			*list.compiled = append(*list.compiled, compiled)
		}
	}
	return nil
}

// loadSubinstallations replaces references to files by the content of the files.
func (b *Blueprint) loadSubinstallations() Findings {
	var found Findings
	for i := range b.Subinstallations {
		if b.Subinstallations[i].File == "" {
			continue
		}
		loaded, err := b.loadSubinstallation(&b.Subinstallations[i])
		if err != nil {
			found.wrong(fmt.Sprintf("subinstallations[%d].file", i), "%v", err)
		}
		found.add(loaded)
	}
	return found
}

func (b *Blueprint) loadSubinstallation(s *lsv1alpha1.SubinstallationTemplate) (Findings, error) {
	content, err := readFile(b.Files, s.File)
	if err != nil {
		return Findings{}, err
	}
	loaded := &lsv1alpha1.InstallationTemplate{}
	found, err := decode(content, loaded)
	if err != nil {
		return Findings{}, fmt.Errorf("%s: %w", s.File, err)
	}
	s.InstallationTemplate = loaded
	return found.within(s.File), nil
}

// decode decodes YAML to an API type. An unknown field is an error, because it is usually misspelt, unless it is known to be
// harmless.
func decode(content []byte, into any) (Findings, error) {
	text, err := yaml.YAMLToJSON(content)
	if err != nil {
		return Findings{}, fmt.Errorf("not valid YAML: %w", err)
	}
	strict, err := kjson.UnmarshalStrict(text, into)
	if err != nil {
		return Findings{}, typeProblem(err)
	}
	var found Findings
	for _, unknown := range strict {
		switch {
		case harmless(unknown.Error()):
			found.Warnings = append(found.Warnings, unknown.Error()+": it has no effect")
		default:
			found.Errors = append(found.Errors, unknown.Error()+": correct its name or remove it")
		}
	}
	return found, nil
}

// harmlessFields are fields that occur in blueprints and never had an effect: they are for users or for other programs. Most blueprints
// have jsonSchema where they mean jsonSchemaVersion, because the common examples do.
var harmlessFields = []string{
	"$schema", "jsonSchema", "metadata", "labels", "title", "description", "displayName", "comment", "example", "examples", "version",
}

var unknownField = regexp.MustCompile(`^unknown field "(?:.*\.)?([^".]+)"$`)

// harmless reports whether the decoder's complaint is about a harmless field. Names that start with an underscore or with x-
// are for YAML anchors.
func harmless(complaint string) bool {
	match := unknownField.FindStringSubmatch(complaint)
	if match == nil {
		return false
	}
	return slices.Contains(harmlessFields, match[1]) || strings.HasPrefix(match[1], "x-") || strings.HasPrefix(match[1], "_")
}

var wrongType = regexp.MustCompile(`cannot unmarshal (\w+).* into Go struct field \w+\.([\w.]+) of type (\S+)$`)

// typeProblem names the field with the wrong type, in terms of blueprints instead of Go.
func typeProblem(err error) error {
	match := wrongType.FindStringSubmatch(err.Error())
	if match == nil {
		return fmt.Errorf("unexpected content: %w", err)
	}
	// Names of Go fields do not occur in the file.
	path := slices.DeleteFunc(strings.Split(match[2], "."), func(name string) bool { return strings.ToLower(name[:1]) != name[:1] })
	field, want := strings.Join(path, "."), kindOfType(match[3])
	if match[1] == "bool" && want == "string" {
		return fmt.Errorf("%s: is a boolean, must be a string; y, n, yes, no, on and off are booleans in YAML: put them in quotes", field)
	}
	return fmt.Errorf("%s: is of type %s, must be of type %s", field, match[1], want)
}

// kindOfType returns the YAML name of a Go type.
func kindOfType(name string) string {
	switch {
	case strings.HasPrefix(name, "[]"):
		return "array"
	case strings.HasPrefix(name, "map["), strings.Contains(name, "."):
		return "object"
	}
	return name
}

func invalid(err error) error {
	return failure.NewTerminal(failure.Details{
		Operation: "ReadBlueprint", Reason: "InvalidBlueprint", Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)},
	}, err)
}
