// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"fmt"
	"maps"
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/schema"
	"espalier.dev/internal/template/spiff"
)

// numbers knows which values are numbers, as far as their schemas say so.
type numbers struct {
	// schemas are those of the values by name.
	schemas map[string]*lsv1alpha1.AnyJSON
	sources schema.Sources
}

// at reports whether there may be a number at a path that begins with the name of a value.
func (n numbers) at(path []string) bool {
	text := n.schemas[path[0]]
	return text != nil && n.sources.MayBeNumber(text.Raw, path[1:])
}

// below is at for values that templates see below a name.
func (n numbers) below(name string) func(path []string) bool {
	return func(path []string) bool { return len(path) > 1 && path[0] == name && n.at(path[1:]) }
}

// importSchemas returns the schemas of the imports, including conditional ones.
func (b *Blueprint) importSchemas() map[string]*lsv1alpha1.AnyJSON {
	schemas := map[string]*lsv1alpha1.AnyJSON{}
	var collect func(imports []lsv1alpha1.ImportDefinition)
	collect = func(imports []lsv1alpha1.ImportDefinition) {
		for i := range imports {
			schemas[imports[i].Name] = imports[i].Schema
			collect(imports[i].ConditionalImports)
		}
	}
	collect(b.Imports)
	return schemas
}

// calculations warns about numbers that Landscaper treats differently.
func (f *Findings) calculations(at string, t *spiff.Template, isNumber func(path []string) bool) {
	if t == nil {
		return
	}
	for _, c := range t.Calculations(isNumber) {
		place := ""
		if c.Path != "" {
			place = "at " + c.Path + ": "
		}
		f.odd(at, "%s(( %s )): in Landscaper imported numbers are floats, and %s there; integer(...) around the number means the same in both",
			place, c.Expression, c.Effect)
	}
}

// mappings checks the data mappings of nested installations.
func (f *Findings) mappings(b *Blueprint) {
	for i := range b.Subinstallations {
		t := b.Subinstallations[i].InstallationTemplate
		if t == nil {
			continue
		}
		at := fmt.Sprintf("subinstallations[%d].", i)
		known := numbers{map[string]*lsv1alpha1.AnyJSON{}, b.schemaSources()}
		imports := b.importSchemas()
		for _, data := range t.Imports.Data {
			known.schemas[data.Name] = imports[data.DataRef]
		}
		f.mapped(at+importDataMappings, t.ImportDataMappings, known.at)
		if inner := nestedBlueprint(t); inner != nil {
			f.mapped(at+exportDataMappings, t.ExportDataMappings, inner.exportedNumber)
		}
	}
}

// CheckMappings warns about the data mappings of an installation whose blueprint is in a directory. The function reports whether
// there is a number at a path in its imports.
func CheckMappings(spec *lsv1alpha1.InstallationSpec, files Files, isNumber func(path []string) bool) Findings {
	f := &Findings{}
	f.mapped("spec."+importDataMappings, spec.ImportDataMappings, isNumber)
	if b := readBlueprint(files); b != nil {
		f.mapped("spec."+exportDataMappings, spec.ExportDataMappings, b.exportedNumber)
	}
	return *f
}

// mapped checks data mappings. One that cannot be compiled is not checked.
func (f *Findings) mapped(at string, mappings map[string]lsv1alpha1.AnyJSON, isNumber func(path []string) bool) {
	for _, name := range slices.Sorted(maps.Keys(mappings)) {
		if compiled, err := compileMapping(at, mappings[name]); err == nil {
			f.calculations(at+"."+name, compiled, isNumber)
		}
	}
}

// exportedNumber reports whether there may be a number at a path in what export mappings see.
func (b *Blueprint) exportedNumber(path []string) bool {
	known := numbers{map[string]*lsv1alpha1.AnyJSON{}, b.schemaSources()}
	for i := range b.Blueprint.Exports {
		known.schemas[b.Blueprint.Exports[i].Name] = b.Blueprint.Exports[i].Schema
	}
	return known.at(path) || known.below(dataflow.ExportsBinding)(path)
}

// nestedBlueprint returns the blueprint that an installation template contains; nil if there is none, or none that can be read.
func nestedBlueprint(t *lsv1alpha1.InstallationTemplate) *Blueprint {
	if t.Blueprint.Filesystem == nil || t.Blueprint.Filesystem.IsNull() {
		return nil
	}
	files, err := InlineFiles(*t.Blueprint.Filesystem)
	if err != nil {
		return nil
	}
	return readBlueprint(files)
}

// readBlueprint decodes the blueprint in a directory without checking it; nil if that fails.
func readBlueprint(files Files) *Blueprint {
	b := &Blueprint{Blueprint: &lsv1alpha1.Blueprint{}, Files: files}
	content, err := readFile(files, lsv1alpha1.BlueprintFileName)
	if err != nil {
		return nil
	}
	if _, err := decode(content, b.Blueprint); err != nil {
		return nil
	}
	return b
}
