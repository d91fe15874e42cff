// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// ExportInput is the input for the exports of an installation.
type ExportInput struct {
	// Installation and Blueprint name them for users: garden/shop, and: blueprint "web" of component shop:1.0.0.
	Installation, Blueprint string
	// Definitions are the exports of the blueprint.
	Definitions []lsv1alpha1.ExportDefinition
	// Values are the exports that the export executions returned.
	Values map[string]any
	// Exports and Mappings are spec.exports and spec.exportDataMappings of the installation.
	Exports  lsv1alpha1.InstallationExports
	Mappings map[string]lsv1alpha1.AnyJSON
	Map      Mapper
	Validate Validator
}

// Exports are the exports of an installation, complete and valid.
type Exports struct {
	// Warnings name values that the blueprint does not declare, and declared ones that are missing but not required.
	Warnings []string

	data    []boundExport
	targets []boundExport
}

type boundExport struct {
	name, reference string
	value           any
	target          *lsv1alpha1.Target
}

// BuildExports checks the exports of a blueprint against its declarations, applies the installation's mappings and selects what the
// installation exports. Every export of the installation must exist.
//
// A mapping sees each export under its name, and all of them under ExportsBinding. It may replace an export, and is not checked against
// the blueprint's schema, because its purpose is to give the value another form.
func BuildExports(in ExportInput) (*Exports, error) {
	b := &exportBuilder{ExportInput: in, faults: &faults{operation: OperationCreateExports}}
	values, err := b.declared()
	if err != nil {
		return nil, err
	}
	if err := b.faults.asError(); err != nil {
		return nil, err
	}
	mapped, err := mapEach(OperationCreateExports, in.Mappings, exportBindings(values), in.Map)
	if err != nil {
		return nil, err
	}
	available := maps.Clone(values)
	maps.Copy(available, mapped)
	b.pickData(available)
	b.pickTargets(available)
	b.warnAboutMissing(available)
	b.warnAboutMappings()
	if err := b.faults.asError(); err != nil {
		return nil, err
	}
	return &b.result, nil
}

func exportBindings(values map[string]any) map[string]any {
	bindings := maps.Clone(values)
	bindings[ExportsBinding] = values
	return bindings
}

type exportBuilder struct {
	ExportInput
	faults *faults
	result Exports
}

// declared returns the values that the blueprint declares, after checking them. It drops all others.
func (b *exportBuilder) declared() (map[string]any, error) {
	values := map[string]any{}
	for _, name := range sorted(maps.Keys(b.Values)) {
		position := slices.IndexFunc(b.Definitions, func(d lsv1alpha1.ExportDefinition) bool { return d.Name == name })
		if position < 0 {
			b.warn("export %q is dropped: the blueprint does not declare it", name)
			continue
		}
		value, err := normal(b.Values[name])
		if err != nil {
			b.faults.wrong(ReasonExportInvalid, "export %q: %v", name, err)
			continue
		}
		values[name] = value
		if err := b.check(&b.Definitions[position].FieldValueDefinition, value); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func (b *exportBuilder) warn(format string, args ...any) {
	b.result.Warnings = append(b.result.Warnings, fmt.Sprintf(format, args...))
}

func (b *exportBuilder) check(definition *lsv1alpha1.FieldValueDefinition, value any) error {
	switch kind := TypeOf(definition); kind {
	case lsv1alpha1.ImportTypeData:
		if !hasSchema(definition) {
			return nil
		}
		if err := b.Validate(fmt.Sprintf("export %q", definition.Name), *definition.Schema, value); err != nil {
			return b.faults.include(err)
		}
	case lsv1alpha1.ImportTypeTarget:
		target, problem := parseTargetTemplate(value)
		if problem != "" {
			b.faults.wrong(ReasonExportInvalid, "export %q is not a target: %s", definition.Name, problem)
			return nil
		}
		if want := TargetTypeOf(definition); want != "" && string(target.Spec.Type) != want {
			b.faults.wrong(
				ReasonExportInvalid,
				"export %q: the target is of type %q, but the blueprint declares %q",
				definition.Name,
				target.Spec.Type,
				want,
			)
		}
	default:
		b.faults.wrong(ReasonExportInvalid, "export %q of the blueprint is neither data nor target", definition.Name)
	}
	return nil
}

func (b *exportBuilder) pickData(available map[string]any) {
	for _, export := range b.Exports.Data {
		if value, ok := b.pick(available, "data", export.Name, export.DataRef); ok {
			b.result.data = append(b.result.data, boundExport{name: export.Name, reference: export.DataRef, value: value})
		}
	}
}

func (b *exportBuilder) pickTargets(available map[string]any) {
	for _, export := range b.Exports.Targets {
		value, ok := b.pick(available, "target", export.Name, export.Target)
		if !ok {
			continue
		}
		target, problem := parseTargetTemplate(value)
		if problem != "" {
			b.faults.wrong(ReasonExportInvalid, "export %q is not a target: %s", export.Name, problem)
			continue
		}
		b.result.targets = append(b.result.targets, boundExport{name: export.Name, reference: export.Target, target: target})
	}
}

// pick returns the value of an export that the installation requests.
func (b *exportBuilder) pick(available map[string]any, kind, name, reference string) (any, bool) {
	if problem := checkReference(reference); problem != "" {
		b.faults.wrong(ReasonExportInvalid, "%s export %q cannot be stored under %q: %s", kind, name, reference, problem)
		return nil, false
	}
	value, ok := available[name]
	if !ok {
		b.faults.wrong(
			ReasonExportInvalid,
			"%s export %q is missing: neither the export executions of %s nor exportDataMappings of installation %s provide it",
			kind,
			name,
			b.Blueprint,
			b.Installation,
		)
	}
	return value, ok
}

// warnAboutMissing reports declared exports that are missing. They are errors only if the installation exports them.
func (b *exportBuilder) warnAboutMissing(available map[string]any) {
	for i := range b.Definitions {
		if _, ok := available[b.Definitions[i].Name]; !ok && len(b.faults.terminal) == 0 {
			b.warn("the blueprint declares export %q but does not provide it", b.Definitions[i].Name)
		}
	}
}

func (b *exportBuilder) warnAboutMappings() {
	for _, name := range sorted(maps.Keys(b.Mappings)) {
		inData := slices.ContainsFunc(b.Exports.Data, func(e lsv1alpha1.DataExport) bool { return e.Name == name })
		inTargets := slices.ContainsFunc(b.Exports.Targets, func(e lsv1alpha1.TargetExport) bool { return e.Name == name })
		if !inData && !inTargets {
			b.warn("exportDataMappings: %q has no effect: spec.exports has no export of that name", name)
		}
	}
}

// Existing are the owners of objects that exist under the names of exports.
type Existing map[ObjectID][]metav1.OwnerReference

// ExportedObjects returns the IDs of the objects of an installation's exports.
func ExportedObjects(scope Scope, exports lsv1alpha1.InstallationExports) []ObjectID {
	var result []ObjectID
	for _, export := range exports.Data {
		result = append(result, ObjectID{Kind: KindDataObject, Name: scope.ObjectName(export.DataRef)})
	}
	for _, export := range exports.Targets {
		result = append(result, ObjectID{Kind: KindTarget, Name: scope.ObjectName(export.Target)})
	}
	return result
}

// Objects returns the context objects of the exports for the scope of the installation. An object that belongs to another installation is
// a terminal error; the garbage collector soon deletes an object of an earlier installation of the same name.
func (e *Exports) Objects(scope Scope, owner Owner, existing Existing) (Objects, error) {
	w := &exportWriter{
		scope:    scope,
		owner:    owner,
		existing: existing,
		taken:    map[ObjectID]string{},
		faults:   &faults{operation: OperationCreateExports},
	}
	var objects Objects
	for _, export := range e.data {
		if !w.free(KindDataObject, export) {
			continue
		}
		object, err := exportMark(owner, scope, export.reference).dataObject(export.value)
		if err != nil {
			w.faults.wrong(ReasonExportInvalid, "export %q has no JSON form", export.name)
			continue
		}
		objects.DataObjects = append(objects.DataObjects, object)
	}
	for _, export := range e.targets {
		if w.free(KindTarget, export) {
			m := exportMark(owner, scope, export.reference)
			objects.Targets = append(objects.Targets, m.target(ObjectName(m.context, export.reference), export.target))
		}
	}
	if err := w.faults.asError(); err != nil {
		return Objects{}, err
	}
	return objects, nil
}

type exportWriter struct {
	scope    Scope
	owner    Owner
	existing Existing
	taken    map[ObjectID]string
	faults   *faults
}

// free reports whether an export may be written: no other installation owns the object, and no other export has the same destination.
func (w *exportWriter) free(kind ObjectKind, export boundExport) bool {
	id := ObjectID{Kind: kind, Name: w.scope.ObjectName(export.reference)}
	if other, taken := w.taken[id]; taken {
		w.faults.wrong(
			ReasonExportConflict,
			"exports %q and %q go to the same %s: give them different references",
			other,
			export.name,
			w.scope.describe(kind, export.reference),
		)
		return false
	}
	w.taken[id] = export.name
	for _, owner := range w.existing[id] {
		if owner.Kind != kindInstallation || owner.UID == w.owner.UID {
			continue
		}
		object := w.scope.describe(kind, export.reference)
		if owner.Name == w.owner.Name {
			w.faults.passes(
				ReasonExportConflict,
				"export %q cannot be written yet: %s is left over from an earlier installation of the same name and is being removed",
				export.name,
				object,
			)
			return false
		}
		w.faults.wrong(
			ReasonExportConflict,
			"export %q cannot be written: %s belongs to installation %q. Export under another name, or delete that installation",
			export.name,
			object,
			owner.Name,
		)
		return false
	}
	return true
}
