// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"fmt"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
)

// Findings are the results of a validation. Each starts with the path of the field.
type Findings struct {
	// Errors make the blueprint unusable.
	Errors []string
	// Warnings are likely mistakes without consequences.
	Warnings []string
}

func (f *Findings) wrong(path, format string, args ...any) {
	f.Errors = append(f.Errors, path+": "+fmt.Sprintf(format, args...))
}

func (f *Findings) odd(path, format string, args ...any) {
	f.Warnings = append(f.Warnings, path+": "+fmt.Sprintf(format, args...))
}

// add adds the findings of another validation.
func (f *Findings) add(other Findings) {
	f.Errors = append(f.Errors, other.Errors...)
	f.Warnings = append(f.Warnings, other.Warnings...)
}

// within prefixes all findings with the name of a file or the path of a field.
func (f Findings) within(place string) Findings {
	var placed Findings
	for _, text := range f.Errors {
		placed.wrong(place, "%s", text)
	}
	for _, text := range f.Warnings {
		placed.odd(place, "%s", text)
	}
	return placed
}

// Validate checks everything that can be checked without values. Content that has always worked, such as executors without a name, is not
// an error.
func Validate(b *lsv1alpha1.Blueprint) Findings {
	f := &Findings{}
	if b.Kind != "" && b.Kind != "Blueprint" {
		f.wrong("kind", "is %q, must be Blueprint", b.Kind)
	}
	f.imports("imports", b.Imports, map[string]string{})
	f.exports(b.Exports)
	f.subinstallations(b.Subinstallations)
	f.executors(importExecutions, b.ImportExecutions)
	f.executors("subinstallationExecutions", b.SubinstallationExecutions)
	f.executors("deployExecutions", b.DeployExecutions)
	f.executors("exportExecutions", b.ExportExecutions)
	return *f
}

func (f *Findings) imports(path string, imports []lsv1alpha1.ImportDefinition, taken map[string]string) {
	for i := range imports {
		d := &imports[i]
		at := fmt.Sprintf("%s[%d]", path, i)
		f.unique(at, d.Name, taken)
		f.value(at, &d.FieldValueDefinition)
		f.importRules(at, d)
		f.imports(at+".imports", d.ConditionalImports, taken)
	}
}

func (f *Findings) importRules(at string, d *lsv1alpha1.ImportDefinition) {
	isData := dataflow.TypeOf(&d.FieldValueDefinition) == lsv1alpha1.ImportTypeData
	if d.Default != nil && !isData {
		f.wrong(at+".default", "only data can have a default value")
	}
	if d.Default != nil && d.IsRequired() {
		f.odd(at+".default", "a required import never takes its default value: set required to false")
	}
	if len(d.ConditionalImports) > 0 && (d.IsRequired() || !isData) {
		f.wrong(at+".imports", "only an import of type data that is not required can have conditional imports")
	}
}

func (f *Findings) exports(exports []lsv1alpha1.ExportDefinition) {
	taken := map[string]string{}
	for i := range exports {
		d := &exports[i].FieldValueDefinition
		at := fmt.Sprintf("exports[%d]", i)
		f.unique(at, d.Name, taken)
		f.value(at, d)
		if kind := dataflow.TypeOf(d); kind == lsv1alpha1.ImportTypeTargetList || kind == lsv1alpha1.ImportTypeTargetMap {
			f.wrong(at+".type", "is %q, must be data or target", kind)
		}
	}
}

func (f *Findings) unique(at, name string, taken map[string]string) {
	if name == "" {
		f.wrong(at+".name", "is required")
		return
	}
	if other, found := taken[name]; found {
		f.wrong(at+".name", "%q is already used by %s", name, other)
	}
	taken[name] = at
}

// value checks that the type and the description of the value match.
func (f *Findings) value(at string, d *lsv1alpha1.FieldValueDefinition) {
	hasSchema := d.Schema != nil && !d.Schema.IsNull()
	switch dataflow.TypeOf(d) {
	case lsv1alpha1.ImportTypeData:
		if !hasSchema {
			f.odd(at+".schema", "is missing: any value is accepted")
		}
		if d.TargetType != "" {
			f.wrong(at+".targetType", "is for targets, not for data")
		}
	case lsv1alpha1.ImportTypeTarget, lsv1alpha1.ImportTypeTargetList, lsv1alpha1.ImportTypeTargetMap:
		if d.TargetType == "" {
			f.odd(at+".targetType", "is missing: targets of any type are accepted")
		}
		if hasSchema {
			f.wrong(at+".schema", "is for data, not for targets")
		}
	case "":
		f.wrong(at, "needs a type, or a schema (then it is data) or a targetType (then it is a target)")
	default:
		f.wrong(at+".type", "is %q, must be data, target, targetList or targetMap", d.Type)
	}
}

func (f *Findings) executors(path string, executors []lsv1alpha1.TemplateExecutor) {
	taken := map[string]string{}
	for i := range executors {
		e := &executors[i]
		at := fmt.Sprintf("%s[%d]", path, i)
		if other, found := taken[e.Name]; found {
			f.odd(at+".name", "is the same as that of %s: they share their state", other)
		} else if e.Name == "" {
			f.odd(at+".name", "is missing: the state of a template is kept under its name")
		}
		taken[e.Name] = at
		if e.Type != lsv1alpha1.TemplateTypeGo && e.Type != lsv1alpha1.TemplateTypeSpiff {
			f.wrong(at+".type", "is %q, must be GoTemplate or Spiff", e.Type)
		}
		if e.AllowMissingKeys && e.Type == lsv1alpha1.TemplateTypeSpiff {
			f.odd(at+".allowMissingKeys", "is only for GoTemplate: in Spiff a missing key is an error that || can catch")
		}
		hasTemplate := e.Template != nil && !e.Template.IsNull()
		if hasTemplate == (e.File != "") {
			f.wrong(at, "needs exactly one of file and template")
		}
	}
}

func (f *Findings) subinstallations(subs []lsv1alpha1.SubinstallationTemplate) {
	taken := map[string]string{}
	for i := range subs {
		at := fmt.Sprintf("subinstallations[%d]", i)
		switch {
		case subs[i].InstallationTemplate != nil:
			f.unique(at, subs[i].Name, taken)
		case subs[i].File == "":
			f.wrong(at, "needs a file, or the fields of an InstallationTemplate")
		}
	}
}
