// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/schema"
)

// Check finds all errors and likely mistakes in a blueprint's directory that can be found without an installation: everything that Parse
// rejects or warns about, invalid schemas, and the same for the blueprints that it contains.
func Check(files Files) Findings {
	f := &Findings{}
	content, err := readFile(files, lsv1alpha1.BlueprintFileName)
	if err != nil {
		f.Errors = append(f.Errors, err.Error())
		return *f
	}
	b := &Blueprint{Blueprint: &lsv1alpha1.Blueprint{}, Files: files}
	found, err := decode(content, b.Blueprint)
	if err != nil {
		f.Errors = append(f.Errors, fmt.Sprintf("%s: %v", lsv1alpha1.BlueprintFileName, err))
		return *f
	}
	f.add(found)
	f.add(b.loadSubinstallations())
	f.add(Validate(b.Blueprint))
	f.unusedImports(b)
	f.relations(b)
	f.templates(b)
	f.mappings(b)
	f.schemas(b)
	f.nested(b)
	return *f
}

// relations checks the sources of nested installations' imports. Nested installations from executions are unknown here.
func (f *Findings) relations(b *Blueprint) {
	var templates []lsv1alpha1.InstallationTemplate
	var siblings []dataflow.Sibling
	for i := range b.Subinstallations {
		t := b.Subinstallations[i].InstallationTemplate
		if t == nil {
			return
		}
		templates = append(templates, *t)
		siblings = append(siblings, dataflow.Sibling{Name: t.Name, Imports: t.Imports, Exports: t.Exports})
	}
	sound := Findings{}
	if sound.subinstallations(b.Subinstallations); len(sound.Errors) > 0 {
		return
	}
	err := dataflow.ValidateSubinstallations(templates, b.Imports, func(string) bool { return true })
	if len(b.SubinstallationExecutions) > 0 {
		var related *dataflow.Siblings
		if related, err = dataflow.NewSiblings(dataflow.Scope{Parent: "parent"}, siblings); err == nil {
			err = related.CheckAll()
		}
	}
	if err != nil {
		f.Errors = append(f.Errors, err.Error())
	}
}

// templates compiles each template, except those for which validation has already found errors.
func (f *Findings) templates(b *Blueprint) {
	for _, list := range b.executorLists() {
		for i := range list.executors {
			at := fmt.Sprintf("%s[%d]", list.name, i)
			if sound(at, &list.executors[i]) {
				compiled, err := compileExecutor(at, &list.executors[i], b.Files)
				if err != nil {
					f.Errors = append(f.Errors, withPlace(at, err))
				}
				f.calculations(at, compiled.spiff, numbers{b.importSchemas(), b.schemaSources()}.below("imports"))
				f.refusals(at, compiled, list.name != importExecutions)
			}
		}
	}
}

// refusals warns about functions whose calls fail. Whether they are called is unknown here.
func (f *Findings) refusals(at string, x executor, state bool) {
	var all []string
	switch {
	case x.spiff != nil:
		all = x.spiff.Refusals(state, functionNames)
	case x.goTemplate != nil:
		all = x.goTemplate.Refusals(state, functionNames)
	}
	for _, refusal := range all {
		f.odd(at, "%s", refusal)
	}
	if x.spiff == nil && x.goTemplate == nil {
		return
	}
	for _, name := range x.functions() {
		if clusterFunctions[name] != "" {
			f.odd(at, "%s", elsewhere(name))
		}
	}
}

// sound reports whether an executor is complete enough to be compiled.
func sound(at string, e *lsv1alpha1.TemplateExecutor) bool {
	alone := Findings{}
	alone.executors(at, []lsv1alpha1.TemplateExecutor{*e})
	return len(alone.Errors) == 0
}

// withPlace prefixes an error with the place, unless it already has this prefix.
func withPlace(at string, err error) string {
	text := err.Error()
	if len(text) >= len(at) && text[:len(at)] == at {
		return text
	}
	return at + ": " + text
}

// errElsewhere is the error of schemas in components, which cannot be resolved here.
var errElsewhere = errors.New("the schema is in a component")

func (f *Findings) schemas(b *Blueprint) {
	compiler := schema.NewCompiler(schema.DefaultLimits(), 0)
	sources := b.schemaSources()
	sources.Resources = func(string) (schema.Resource, error) { return schema.Resource{}, errElsewhere }
	check := func(at string, text *lsv1alpha1.AnyJSON) {
		if text == nil || text.IsNull() {
			return
		}
		if _, err := compiler.Compile(at, text.Raw, sources); err != nil && !errors.Is(err, errElsewhere) {
			f.Errors = append(f.Errors, withPlace(at, err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.LocalTypes)) {
		text := b.LocalTypes[name]
		check("localTypes."+name, &text)
	}
	var imports func(at string, definitions []lsv1alpha1.ImportDefinition)
	imports = func(at string, definitions []lsv1alpha1.ImportDefinition) {
		for i := range definitions {
			here := fmt.Sprintf("%s[%d]", at, i)
			check(here+".schema", definitions[i].Schema)
			imports(here+".imports", definitions[i].ConditionalImports)
		}
	}
	imports("imports", b.Imports)
	for i := range b.Exports {
		check(fmt.Sprintf("exports[%d].schema", i), b.Exports[i].Schema)
	}
}

// nested checks the blueprints that nested installations contain.
func (f *Findings) nested(b *Blueprint) {
	for i := range b.Subinstallations {
		t := b.Subinstallations[i].InstallationTemplate
		if t == nil || t.Blueprint.Filesystem == nil || t.Blueprint.Filesystem.IsNull() {
			continue
		}
		at := fmt.Sprintf("subinstallations[%d].blueprint.filesystem", i)
		files, err := InlineFiles(*t.Blueprint.Filesystem)
		if err != nil {
			f.wrong(at, "%v", err)
			continue
		}
		f.add(Check(files).within(at))
	}
}
