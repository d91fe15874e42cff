// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"

	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/lru"
)

// declared is what a blueprint declares about its imports and exports.
type declared struct {
	imports []lsv1alpha1.ImportDefinition
	exports []lsv1alpha1.ExportDefinition
}

// inlineBlueprints caches parsed blueprints, since a page is rendered again with each change of anything on it.
var inlineBlueprints = lru.NewCache[declared](16 << 20)

// declaredBy reads the blueprint of an installation if the installation contains it. Others are in registries and repositories, which a
// page that is rendered ten times per second cannot read: NewDeclared shows these on request. An unreadable blueprint declares nothing.
func declaredBy(object *lsv1alpha1.Installation) declared {
	if object.Spec.Blueprint.Inline == nil {
		return declared{}
	}
	tree := object.Spec.Blueprint.Inline.Filesystem
	known, err := inlineBlueprints.Get(lru.KeyOf(tree.Raw), func() (declared, int, error) {
		return readDeclared(tree), len(tree.Raw), nil
	})
	if err != nil {
		return declared{}
	}
	return known
}

func readDeclared(tree lsv1alpha1.AnyJSON) declared {
	files, err := blueprint.InlineFiles(tree)
	if err != nil {
		return declared{}
	}
	var b lsv1alpha1.Blueprint
	if yaml.Unmarshal(files[lsv1alpha1.BlueprintFileName], &b) != nil {
		return declared{}
	}
	return declared{imports: b.Imports, exports: b.Exports}
}

// NewDeclared shows what the blueprint of an installation declares about its imports and exports, wherever it was read.
func NewDeclared(object *lsv1alpha1.Installation, imports []lsv1alpha1.ImportDefinition, exports []lsv1alpha1.ExportDefinition) Declared {
	d := declared{imports: imports, exports: exports}
	shown := Declared{Imports: []NamedType{}, Exports: []NamedType{}, Defaults: orEmpty(d.defaults(provides(object)))}
	for i := range exports {
		shown.Exports = append(shown.Exports, NamedType{exports[i].Name, TypeWords(&exports[i].FieldValueDefinition)})
	}
	d.eachImport(func(definition *lsv1alpha1.ImportDefinition) {
		shown.Imports = append(shown.Imports, NamedType{definition.Name, TypeWords(&definition.FieldValueDefinition)})
	})
	return shown
}

// eachImport visits all imports, including conditional ones.
func (d declared) eachImport(visit func(*lsv1alpha1.ImportDefinition)) {
	for i := range d.imports {
		visit(&d.imports[i])
		declared{imports: d.imports[i].ConditionalImports}.eachImport(visit)
	}
}

// typeOfImport returns the type of an import, including conditional ones.
func (d declared) typeOfImport(name string) string {
	for i := range d.imports {
		if d.imports[i].Name == name {
			return TypeWords(&d.imports[i].FieldValueDefinition)
		}
		if found := (declared{imports: d.imports[i].ConditionalImports}).typeOfImport(name); found != "" {
			return found
		}
	}
	return ""
}

func (d declared) typeOfExport(name string) string {
	i := slices.IndexFunc(d.exports, func(e lsv1alpha1.ExportDefinition) bool { return e.Name == name })
	if i < 0 {
		return ""
	}
	return TypeWords(&d.exports[i].FieldValueDefinition)
}

// defaults returns the imports that an installation does not provide, and that have a value nevertheless. Conditional ones count only if
// the import that they depend on is provided.
func (d declared) defaults(provided func(name string) bool) []Value {
	var all []Value
	for i := range d.imports {
		definition := &d.imports[i]
		switch {
		case provided(definition.Name):
			all = append(all, declared{imports: definition.ConditionalImports}.defaults(provided)...)
		case hasDefault(definition):
			all = append(all, Value{
				Name: definition.Name, Kind: "data", Type: TypeWords(&definition.FieldValueDefinition), State: valueDefault,
				Default: shortJSON(definition.Default.Value.Raw),
			})
		}
	}
	return all
}

func hasDefault(d *lsv1alpha1.ImportDefinition) bool {
	return !d.IsRequired() && d.Default != nil && dataflow.TypeOf(&d.FieldValueDefinition) == lsv1alpha1.ImportTypeData
}

// longestDefault is the maximum displayed length of a default, in bytes.
const longestDefault = 200

func shortJSON(raw []byte) string {
	if len(raw) <= longestDefault {
		return string(raw)
	}
	cut := longestDefault
	for cut > 0 && raw[cut]&0xC0 == 0x80 { // inside a character
		cut--
	}
	return string(raw[:cut]) + "…"
}

// provides returns a function that reports whether an installation itself provides an import.
func provides(object *lsv1alpha1.Installation) func(name string) bool {
	return func(name string) bool {
		_, mapped := object.Spec.ImportDataMappings[name]
		return mapped || slices.ContainsFunc(object.Spec.Imports.Data, func(d lsv1alpha1.DataImport) bool { return d.Name == name }) ||
			slices.ContainsFunc(object.Spec.Imports.Targets, func(t lsv1alpha1.TargetImport) bool { return t.Name == name })
	}
}
