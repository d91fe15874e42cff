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

// Blueprint is a blueprint that was read and found to be sound. It is never changed afterwards, so that one can serve
// many installations at once.
type Blueprint struct {
	*lsv1alpha1.Blueprint
	Files Files
	// Warnings name what has no effect: fields that do not exist, and the like.
	Warnings []string

	// tree is set if the blueprint was given inline.
	tree *inlineTree

	imports, subinstallations, deployments, exports []executor
}

// inlineTree is a directory as an installation writes it, and as templates see it, who may not change it.
type inlineTree struct {
	text  []byte
	plain any
}

// Parse reads the blueprint in a directory. What it does not know is warned about and left alone; what it cannot work
// with is a terminal error that names each field.
func Parse(files Files) (*Blueprint, error) {
	content, err := files.read(lsv1alpha1.BlueprintFileName)
	if err != nil {
		return nil, invalid(err)
	}
	b := &Blueprint{Blueprint: &lsv1alpha1.Blueprint{}, Files: files}
	b.Warnings, err = decode(content, b.Blueprint)
	if err != nil {
		return nil, invalid(fmt.Errorf("%s: %w", lsv1alpha1.BlueprintFileName, err))
	}
	if wrong := b.loadSubinstallations(); len(wrong) > 0 {
		return nil, invalid(errors.New(strings.Join(wrong, "; ")))
	}
	findings := Validate(b.Blueprint)
	b.Warnings = append(b.Warnings, findings.Warnings...)
	if len(findings.Errors) > 0 {
		return nil, invalid(fmt.Errorf("%s: %s", lsv1alpha1.BlueprintFileName, strings.Join(findings.Errors, "; ")))
	}
	return b, b.compile()
}

// executorList is one list of templates of a blueprint, and where its compiled form goes.
type executorList struct {
	name      string
	executors []lsv1alpha1.TemplateExecutor
	compiled  *[]executor
}

func (b *Blueprint) executorLists() []executorList {
	return []executorList{
		{"importExecutions", b.ImportExecutions, &b.imports},
		{"subinstallationExecutions", b.SubinstallationExecutions, &b.subinstallations},
		{"deployExecutions", b.DeployExecutions, &b.deployments},
		{"exportExecutions", b.ExportExecutions, &b.exports},
	}
}

// compile prepares all templates, so that a mistake in one is found before anything is done.
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

// loadSubinstallations replaces references to files by what the files contain. It returns all that is wrong with them.
func (b *Blueprint) loadSubinstallations() []string {
	var wrong []string
	for i := range b.Subinstallations {
		if b.Subinstallations[i].File == "" {
			continue
		}
		if err := b.loadSubinstallation(&b.Subinstallations[i]); err != nil {
			wrong = append(wrong, fmt.Sprintf("subinstallations[%d].file: %v", i, err))
		}
	}
	return wrong
}

func (b *Blueprint) loadSubinstallation(s *lsv1alpha1.SubinstallationTemplate) error {
	content, err := b.Files.read(s.File)
	if err != nil {
		return err
	}
	loaded := &lsv1alpha1.InstallationTemplate{}
	warnings, err := decode(content, loaded)
	if err != nil {
		return fmt.Errorf("%s: %w", s.File, err)
	}
	for _, warning := range warnings {
		b.Warnings = append(b.Warnings, s.File+": "+warning)
	}
	s.InstallationTemplate = loaded
	return nil
}

// decode reads YAML into a type of the API. Fields that the type lacks come back as warnings.
func decode(content []byte, into any) (warnings []string, err error) {
	text, err := yaml.YAMLToJSON(content)
	if err != nil {
		return nil, fmt.Errorf("not valid YAML: %w", err)
	}
	strict, err := kjson.UnmarshalStrict(text, into)
	if err != nil {
		return nil, typeProblem(err)
	}
	for _, warning := range strict {
		warnings = append(warnings, warning.Error()+": it has no effect")
	}
	return warnings, nil
}

var wrongType = regexp.MustCompile(`cannot unmarshal (\w+).* into Go struct field \w+\.([\w.]+) of type (\S+)$`)

// typeProblem says which field has the wrong type, in the words of blueprints instead of those of Go.
func typeProblem(err error) error {
	match := wrongType.FindStringSubmatch(err.Error())
	if match == nil {
		return fmt.Errorf("not what is expected here: %w", err)
	}
	// Fields whose names are those of Go are not written in a file.
	path := slices.DeleteFunc(strings.Split(match[2], "."), func(name string) bool { return strings.ToLower(name[:1]) != name[:1] })
	field, want := strings.Join(path, "."), kindOfType(match[3])
	if match[1] == "bool" && want == "string" {
		return fmt.Errorf("%s: is a boolean, must be a string; y, n, yes, no, on and off are booleans in YAML: write them in quotes", field)
	}
	return fmt.Errorf("%s: is of type %s, must be of type %s", field, match[1], want)
}

// kindOfType is what a type of Go is called in YAML.
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
