// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Validator checks a value against a schema of the blueprint. what names the import or export; errors start with it and do not contain the
// value. An error that is not terminal means that the schema is currently unavailable.
type Validator func(what string, schema lsv1alpha1.AnyJSON, value any) error

// ImportInput is the input for the values of a blueprint's imports.
type ImportInput struct {
	// Definitions are the imports of the blueprint.
	Definitions []lsv1alpha1.ImportDefinition
	// Resolved are the imports of the installation, Mappings its importDataMappings.
	Resolved Resolved
	Mappings map[string]lsv1alpha1.AnyJSON
	Map      Mapper
	Validate Validator
}

// Imports are the imports of a blueprint, complete and valid.
type Imports struct {
	// Values are the values that templates see: data unchanged, a target as a whole object, a list of them, or a map of them by key.
	Values map[string]any
	// Warnings name settings without effect.
	Warnings []string

	bound []boundImport
}

// Targets returns all targets that imports are bound to.
func (i *Imports) Targets() []Target {
	var targets []Target
	for _, bound := range i.bound {
		targets = append(targets, bound.targets...)
	}
	return targets
}

// boundImport is an import of the blueprint that has a value.
type boundImport struct {
	name    string
	kind    lsv1alpha1.ImportType
	targets []Target
}

// Construct determines the value of every import of a blueprint: the result of a mapping, otherwise what the installation imports under
// that name, otherwise the default. It omits imports that depend on one without a value. It returns an error unless everything that is
// required exists and matches its schema or target type.
func Construct(in ImportInput) (*Imports, error) {
	mapped, err := in.mapped()
	if err != nil {
		return nil, err
	}
	c := &constructor{ImportInput: in, mapped: mapped, faults: &faults{operation: OperationValidateImport}, used: map[string]bool{}}
	c.result.Values = map[string]any{}
	if err := c.all(in.Definitions); err != nil {
		return nil, err
	}
	if err := c.faults.asError(); err != nil {
		return nil, err
	}
	for _, name := range sorted(maps.Keys(mapped)) {
		if !c.used[name] {
			c.result.Warnings = append(
				c.result.Warnings,
				fmt.Sprintf("importDataMappings: %q has no effect: the blueprint has no data import of that name that is in use", name),
			)
		}
	}
	c.result.Warnings = append(c.result.Warnings, in.unused()...)
	return &c.result, nil
}

// unused returns a warning for each import of the installation that the blueprint does not declare and no mapping mentions, such as a
// misspelled one. It is not an error: an import may only keep an installation waiting for another one.
func (in ImportInput) unused() []string {
	declared := map[string]bool{}
	declare(in.Definitions, declared)
	var warnings []string
	for _, name := range sorted(maps.Keys(in.Resolved)) {
		if !declared[name] && !in.mapsFrom(name) {
			warnings = append(warnings, fmt.Sprintf(
				"spec.imports: %q has no effect: the blueprint has no import of that name, and importDataMappings do not use it", name))
		}
	}
	return warnings
}

// declare adds the names of imports, including conditional ones.
func declare(definitions []lsv1alpha1.ImportDefinition, declared map[string]bool) {
	for i := range definitions {
		declared[definitions[i].Name] = true
		declare(definitions[i].ConditionalImports, declared)
	}
}

// mapsFrom reports whether a mapping may use an import of the installation. Any mention counts, and so does a mapping that may use all of
// them.
func (in ImportInput) mapsFrom(name string) bool {
	mention := regexp.MustCompile(`(?:^|[^\w-])` + regexp.QuoteMeta(name) + `(?:[^\w-]|$)|__ctx|___`)
	for _, mapping := range in.Mappings {
		if mention.Match(mapping.Raw) {
			return true
		}
	}
	return false
}

// mapped evaluates the data mappings. Without any, the imports need not be converted for them.
func (in ImportInput) mapped() (map[string]any, error) {
	if len(in.Mappings) == 0 {
		return nil, nil
	}
	return mapEach(OperationValidateImport, in.Mappings, in.Resolved.values(), in.Map)
}

// values returns the imports in the form that mappings and templates see.
func (r Resolved) values() map[string]any {
	values := make(map[string]any, len(r))
	for name, imported := range r {
		values[name] = imported.Value()
	}
	return values
}

// Value returns the import in the form that mappings and templates see.
func (i Import) Value() any {
	switch i.Type {
	case lsv1alpha1.ImportTypeData:
		return i.Data
	case lsv1alpha1.ImportTypeTarget:
		if len(i.Targets) == 1 {
			return i.Targets[0].Value()
		}
		return nil
	case lsv1alpha1.ImportTypeTargetMap:
		values := make(map[string]any, len(i.Targets))
		for _, target := range i.Targets {
			values[target.Key] = target.Value()
		}
		return values
	default:
		values := make([]any, 0, len(i.Targets))
		for _, target := range i.Targets {
			values = append(values, target.Value())
		}
		return values
	}
}

type constructor struct {
	ImportInput
	mapped map[string]any
	used   map[string]bool
	faults *faults
	result Imports
}

func (c *constructor) all(definitions []lsv1alpha1.ImportDefinition) error {
	for i := range definitions {
		definition := &definitions[i]
		satisfied, err := c.one(definition)
		if err != nil {
			return err
		}
		if !satisfied {
			continue
		}
		if err := c.all(definition.ConditionalImports); err != nil {
			return err
		}
	}
	return nil
}

// one determines the value of an import and reports whether it has one.
func (c *constructor) one(definition *lsv1alpha1.ImportDefinition) (bool, error) {
	kind := TypeOf(&definition.FieldValueDefinition)
	switch kind {
	case lsv1alpha1.ImportTypeData:
		return c.data(definition)
	case lsv1alpha1.ImportTypeTarget, lsv1alpha1.ImportTypeTargetList, lsv1alpha1.ImportTypeTargetMap:
		return c.target(definition, kind), nil
	}
	c.faults.wrong(
		ReasonImportInvalid,
		"blueprint import %q is neither data nor a target: set its type, its schema or its targetType",
		definition.Name,
	)
	return false, nil
}

func (c *constructor) data(definition *lsv1alpha1.ImportDefinition) (bool, error) {
	value, ok, err := c.dataValue(definition)
	if err != nil || !ok {
		return false, err
	}
	c.bind(definition.Name, value, boundImport{kind: lsv1alpha1.ImportTypeData})
	if !hasSchema(&definition.FieldValueDefinition) {
		return true, nil
	}
	if err := c.Validate(fmt.Sprintf("import %q", definition.Name), *definition.Schema, value); err != nil {
		return true, c.faults.include(err)
	}
	return true, nil
}

func (c *constructor) dataValue(definition *lsv1alpha1.ImportDefinition) (value any, ok bool, err error) {
	if value, ok := c.mapped[definition.Name]; ok {
		c.used[definition.Name] = true
		return value, true, nil
	}
	if imported, ok := c.imported(definition, lsv1alpha1.ImportTypeData); ok {
		return imported.Data, imported.Type == lsv1alpha1.ImportTypeData, nil
	}
	if definition.IsRequired() {
		c.unsatisfied(definition, lsv1alpha1.ImportTypeData)
		return nil, false, nil
	}
	if definition.Default == nil || definition.Default.Value.IsNull() {
		return nil, false, nil
	}
	value, err = decodeJSON(definition.Default.Value.Raw)
	if err != nil {
		c.faults.wrong(ReasonImportInvalid, "blueprint import %q: its default cannot be read: %v", definition.Name, err)
		return nil, false, nil
	}
	return value, true, nil
}

// imported returns what the installation imports under a blueprint's name. An import of a different type is a fault.
func (c *constructor) imported(definition *lsv1alpha1.ImportDefinition, kind lsv1alpha1.ImportType) (Import, bool) {
	imported, ok := c.Resolved[definition.Name]
	if ok && imported.Type != kind {
		c.faults.wrong(
			ReasonImportNotSatisfied,
			"import %q is of type %s, but the blueprint wants %s: change spec.imports",
			definition.Name,
			imported.Type,
			kind,
		)
	}
	return imported, ok
}

func (c *constructor) unsatisfied(definition *lsv1alpha1.ImportDefinition, kind lsv1alpha1.ImportType) {
	if kind == lsv1alpha1.ImportTypeData {
		c.faults.wrong(
			ReasonImportNotSatisfied,
			"the blueprint needs import %q of type data: add it to spec.imports.data, or to spec.importDataMappings",
			definition.Name,
		)
		return
	}
	c.faults.wrong(
		ReasonImportNotSatisfied,
		"the blueprint needs import %q of type %s: add it to spec.imports.targets",
		definition.Name,
		kind,
	)
}

func (c *constructor) target(definition *lsv1alpha1.ImportDefinition, kind lsv1alpha1.ImportType) bool {
	imported, ok := c.imported(definition, kind)
	if !ok {
		if definition.IsRequired() {
			c.unsatisfied(definition, kind)
		}
		return false
	}
	if imported.Type != kind {
		return false
	}
	want := TargetTypeOf(&definition.FieldValueDefinition)
	for i, target := range imported.Targets {
		if want != "" && string(target.Spec.Type) != want {
			c.faults.wrong(ReasonImportNotSatisfied, "import %q%s: Target %s is of type %q, but the blueprint wants %q",
				definition.Name, elementOf(kind, i, target.Key), target.Name, target.Spec.Type, want)
		}
	}
	c.bind(definition.Name, imported.Value(), boundImport{kind: kind, targets: imported.Targets})
	return true
}

// elementOf names an element of a list or map, in the form of a reference.
func elementOf(kind lsv1alpha1.ImportType, index int, key string) string {
	switch kind {
	case lsv1alpha1.ImportTypeTargetList:
		return fmt.Sprintf("[%d]", index)
	case lsv1alpha1.ImportTypeTargetMap:
		return "[" + key + "]"
	}
	return ""
}

func (c *constructor) bind(name string, value any, bound boundImport) {
	bound.name = name
	c.result.Values[name] = value
	c.result.bound = append(c.result.bound, bound)
}

// Satisfied reports whether an import of the blueprint has a value.
func (i *Imports) Satisfied(name string) bool {
	return slices.ContainsFunc(i.bound, func(b boundImport) bool { return b.name == name })
}

// TargetOf returns the Target that a deploy item refers to: that of a target import, or one of a list by index or of a map by key.
func (i *Imports) TargetOf(name string, index *int, key *string) (*lsv1alpha1.Target, error) {
	position := slices.IndexFunc(i.bound, func(b boundImport) bool { return b.name == name })
	if position < 0 {
		return nil, fmt.Errorf("there is no target import %q", name)
	}
	bound := i.bound[position]
	switch bound.kind {
	case lsv1alpha1.ImportTypeTarget:
		if index != nil || key != nil {
			return nil, fmt.Errorf("import %q is a single target: omit index and key", name)
		}
		return bound.targets[0].Target, nil
	case lsv1alpha1.ImportTypeTargetList:
		return bound.byIndex(index, key)
	case lsv1alpha1.ImportTypeTargetMap:
		return bound.byKey(index, key)
	}
	return nil, fmt.Errorf("import %q is data, not a target", name)
}

func (b boundImport) byIndex(index *int, key *string) (*lsv1alpha1.Target, error) {
	if index == nil || key != nil {
		return nil, fmt.Errorf("import %q is a target list: select a target by index", b.name)
	}
	if *index < 0 || *index >= len(b.targets) {
		return nil, fmt.Errorf("import %q has %d targets, but none at index %d", b.name, len(b.targets), *index)
	}
	return b.targets[*index].Target, nil
}

func (b boundImport) byKey(index *int, key *string) (*lsv1alpha1.Target, error) {
	if key == nil || index != nil {
		return nil, fmt.Errorf("import %q is a target map: select a target by key", b.name)
	}
	for _, target := range b.targets {
		if target.Key == *key {
			return target.Target, nil
		}
	}
	return nil, fmt.Errorf("import %q has no target with key %q", b.name, *key)
}
