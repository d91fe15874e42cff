// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// MaxTemplateName is the maximum number of characters in the name of a nested installation. The name of its object is six characters
// longer, and labels contain it after a prefix.
const MaxTemplateName = 52

// parentImports are the imports of a blueprint by name, conditional ones included.
type parentImports struct {
	kinds map[string]lsv1alpha1.ImportType
	// optional imports and conditional ones may have no value.
	optional  map[string]bool
	satisfied func(name string) bool
}

func newParentImports(definitions []lsv1alpha1.ImportDefinition, satisfied func(name string) bool) *parentImports {
	p := &parentImports{kinds: map[string]lsv1alpha1.ImportType{}, optional: map[string]bool{}, satisfied: satisfied}
	p.add(definitions, false)
	return p
}

func (p *parentImports) add(definitions []lsv1alpha1.ImportDefinition, conditional bool) {
	for i := range definitions {
		d := &definitions[i]
		p.kinds[d.Name] = TypeOf(&d.FieldValueDefinition)
		p.optional[d.Name] = conditional || !d.IsRequired()
		p.add(d.ConditionalImports, true)
	}
}

// lacks reports whether a reference denotes an import of the parent, or an element of one, that has no value and needs none.
func (p *parentImports) lacks(reference string) bool {
	name := reference
	if list, _, ok := SplitElement(reference); ok {
		name = list
	}
	return p.optional[name] && !p.satisfied(name)
}

// provides returns the type of an import of the parent that has a value; empty if it has none.
func (p *parentImports) provides(name string) lsv1alpha1.ImportType {
	if !p.satisfied(name) {
		return ""
	}
	return p.kinds[name]
}

// DropUnsatisfied returns the nested installations of a blueprint, without those of their imports that are bound to an import of the
// parent that has no value and needs none. It drops imports of lists and maps of targets as a whole. What a nested blueprint nevertheless
// requires is reported as missing there.
func DropUnsatisfied(
	templates []lsv1alpha1.InstallationTemplate,
	definitions []lsv1alpha1.ImportDefinition,
	satisfied func(name string) bool,
) []lsv1alpha1.InstallationTemplate {
	parent := newParentImports(definitions, satisfied)
	result := make([]lsv1alpha1.InstallationTemplate, 0, len(templates))
	for i := range templates {
		template := *templates[i].DeepCopy()
		template.Imports.Data = slices.DeleteFunc(template.Imports.Data, func(d lsv1alpha1.DataImport) bool {
			return parent.lacks(d.DataRef)
		})
		template.Imports.Targets = slices.DeleteFunc(template.Imports.Targets, func(t lsv1alpha1.TargetImport) bool {
			references := targetReferences(t)
			if whole := elementsReference(t); whole != "" {
				references = []string{whole}
			}
			return slices.ContainsFunc(references, parent.lacks)
		})
		result = append(result, template)
	}
	return result
}

// ValidateSubinstallations checks the nested installations of a blueprint, after DropUnsatisfied: each separately, and that every import
// comes from the parent or a sibling, that no two export the same or what the parent imports, and that none waits for itself. It returns
// all problems in one terminal error.
func ValidateSubinstallations(
	templates []lsv1alpha1.InstallationTemplate,
	definitions []lsv1alpha1.ImportDefinition,
	satisfied func(name string) bool,
) error {
	v := &templateValidator{
		parent:   newParentImports(definitions, satisfied),
		exported: map[ObjectID]bool{},
		faults:   &faults{operation: OperationSubinstances},
	}
	siblings := make([]Sibling, 0, len(templates))
	names := map[string]bool{}
	for i := range templates {
		template := &templates[i]
		at := place(template, i)
		if names[template.Name] && template.Name != "" {
			v.wrong("%s.name: %q is taken by another nested installation", at, template.Name)
		}
		names[template.Name] = true
		v.template(at, template)
		siblings = append(siblings, Sibling{Name: template.Name, Imports: template.Imports, Exports: template.Exports})
	}
	for i := range templates {
		v.satisfied(place(&templates[i], i), &templates[i])
	}
	return v.relations(siblings)
}

// relations checks the nested installations together, and returns all problems. Installations with the same name were reported before and
// cannot be distinguished.
func (v *templateValidator) relations(siblings []Sibling) error {
	related, err := NewSiblings(Scope{Parent: "parent"}, siblings)
	if err == nil {
		err = related.CheckAll()
	}
	own := v.faults.asError()
	switch {
	case own == nil:
		return err
	case err == nil || related == nil:
		return own
	}
	if other := v.faults.include(err); other != nil {
		return other
	}
	return v.faults.asError()
}

// place names a nested installation in messages.
func place(template *lsv1alpha1.InstallationTemplate, position int) string {
	if template.Name == "" {
		return fmt.Sprintf("subinstallations[%d]", position)
	}
	return fmt.Sprintf("subinstallations[%s]", template.Name)
}

type templateValidator struct {
	parent   *parentImports
	exported map[ObjectID]bool
	faults   *faults
}

func (v *templateValidator) wrong(format string, args ...any) {
	v.faults.wrong(ReasonInvalidTemplate, format, args...)
}

// template checks a nested installation separately.
func (v *templateValidator) template(at string, template *lsv1alpha1.InstallationTemplate) {
	switch {
	case template.Name == "":
		v.wrong("%s.name: is required", at)
	case len(template.Name) > MaxTemplateName:
		v.wrong("%s.name: has %d characters, at most %d are allowed", at, len(template.Name), MaxTemplateName)
	case len(validation.IsDNS1123Label(template.Name)) > 0:
		v.wrong("%s.name: use lower-case letters, digits and '-', and begin and end with a letter or digit", at)
	}
	inline := template.Blueprint.Filesystem != nil && !template.Blueprint.Filesystem.IsNull()
	if inline == (template.Blueprint.Ref != "") {
		v.wrong("%s.blueprint: set exactly one of ref and filesystem", at)
	}
	names := map[string]bool{}
	for i, data := range template.Imports.Data {
		v.dataImport(fmt.Sprintf("%s.imports.data[%d]", at, i), data, names)
	}
	for i, target := range template.Imports.Targets {
		v.targetImport(fmt.Sprintf("%s.imports.targets[%d]", at, i), target, names)
	}
	v.exports(at, template.Exports)
}

func (v *templateValidator) name(at, name string, taken map[string]bool) {
	if name == "" {
		v.wrong("%s.name: is required", at)
	} else if taken[name] {
		v.wrong("%s.name: %q is taken by another one", at, name)
	}
	taken[name] = true
}

func (v *templateValidator) dataImport(at string, data lsv1alpha1.DataImport, names map[string]bool) {
	v.name(at, data.Name, names)
	if data.SecretRef != nil {
		v.wrong("%s.secretRef: a nested installation imports from its parent and siblings only; import the Secret in the root installation", at)
	}
	if data.ConfigMapRef != nil {
		v.wrong(
			"%s.configMapRef: a nested installation imports from its parent and siblings only; import the ConfigMap in the root installation",
			at,
		)
	}
	if data.DataRef == "" {
		v.wrong("%s.dataRef: is required", at)
	}
}

var targetMapKey = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`)

func (v *templateValidator) targetImport(at string, target lsv1alpha1.TargetImport, names map[string]bool) {
	v.name(at, target.Name, names)
	sources := 0
	for _, set := range []bool{
		target.Target != "", target.Targets != nil, target.TargetListReference != "", target.TargetMap != nil, target.TargetMapReference != "",
	} {
		if set {
			sources++
		}
	}
	if sources != 1 {
		v.wrong("%s: set exactly one of target, targets, targetListRef, targetMap and targetMapRef", at)
	}
	for i, reference := range target.Targets {
		if reference == "" {
			v.wrong("%s.targets[%d]: is empty", at, i)
		}
	}
	for _, key := range sorted(maps.Keys(target.TargetMap)) {
		if !targetMapKey.MatchString(key) {
			v.wrong(
				"%s.targetMap: the key %q is not allowed: use at most 63 lower-case letters, digits, '-' and '.', and begin and end with a letter or digit",
				at,
				key,
			)
		}
		if target.TargetMap[key] == "" {
			v.wrong("%s.targetMap[%s]: is empty", at, key)
		}
	}
}

// templateExport is an export of a nested installation. Field is the field that holds the reference.
type templateExport struct {
	kind            ObjectKind
	at, field       string
	name, reference string
}

func exportsOf(at string, exports lsv1alpha1.InstallationExports) []templateExport {
	var result []templateExport
	for i, export := range exports.Data {
		result = append(
			result,
			templateExport{KindDataObject, fmt.Sprintf("%s.exports.data[%d]", at, i), "dataRef", export.Name, export.DataRef},
		)
	}
	for i, export := range exports.Targets {
		result = append(result, templateExport{KindTarget, fmt.Sprintf("%s.exports.targets[%d]", at, i), "target", export.Name, export.Target})
	}
	return result
}

func (v *templateValidator) exports(at string, exports lsv1alpha1.InstallationExports) {
	names := map[ObjectKind]map[string]bool{KindDataObject: {}, KindTarget: {}}
	for _, export := range exportsOf(at, exports) {
		v.name(export.at, export.name, names[export.kind])
		if problem := checkReference(export.reference); problem != "" {
			v.wrong("%s.%s: %q cannot be exported to: %s", export.at, export.field, export.reference, problem)
			continue
		}
		if kind, taken := v.parent.kinds[export.reference]; taken && (kind == lsv1alpha1.ImportTypeData) == (export.kind == KindDataObject) {
			v.faults.wrong(
				ReasonExportConflict,
				"%s.%s: %q is what the parent imports under that name: export under another name",
				export.at,
				export.field,
				export.reference,
			)
		}
		v.exported[nestedObject(export.kind, export.reference)] = true
	}
}

// nestedObject identifies an object of the scope of the nested installations.
func nestedObject(kind ObjectKind, reference string) ObjectID {
	return ObjectID{Kind: kind, Name: ObjectName(ContextOf("parent"), reference)}
}

// satisfied checks that something provides each import of a nested installation.
func (v *templateValidator) satisfied(at string, template *lsv1alpha1.InstallationTemplate) {
	for i, data := range template.Imports.Data {
		if data.DataRef != "" && !v.provided(KindDataObject, data.DataRef) {
			v.unsatisfied(fmt.Sprintf("%s.imports.data[%d].dataRef", at, i), "data", data.DataRef)
		}
	}
	for i, target := range template.Imports.Targets {
		v.targetsSatisfied(fmt.Sprintf("%s.imports.targets[%d]", at, i), target)
	}
}

func (v *templateValidator) targetsSatisfied(at string, target lsv1alpha1.TargetImport) {
	for _, reference := range targetReferences(target) {
		if reference != "" && !v.provided(KindTarget, reference) {
			v.unsatisfied(at, "a target", reference)
		}
	}
	if list := target.TargetListReference; list != "" && v.parent.provides(list) != lsv1alpha1.ImportTypeTargetList {
		v.faults.wrong(ReasonImportNotSatisfied, "%s.targetListRef: the parent has no target list %q among its imports", at, list)
	}
	if targetMap := target.TargetMapReference; targetMap != "" && v.parent.provides(targetMap) != lsv1alpha1.ImportTypeTargetMap {
		v.faults.wrong(ReasonImportNotSatisfied, "%s.targetMapRef: the parent has no target map %q among its imports", at, targetMap)
	}
}

// provided reports whether the parent or a sibling provides what a reference denotes. Global references denote objects that neither needs
// to provide.
func (v *templateValidator) provided(kind ObjectKind, reference string) bool {
	if IsGlobal(reference) || v.exported[nestedObject(kind, reference)] {
		return true
	}
	if kind == KindDataObject {
		return v.parent.provides(reference) == lsv1alpha1.ImportTypeData
	}
	if name, key, ok := SplitElement(reference); ok {
		_, notANumber := strconv.Atoi(key)
		isList := v.parent.provides(name) == lsv1alpha1.ImportTypeTargetList && notANumber == nil
		return isList || v.parent.provides(name) == lsv1alpha1.ImportTypeTargetMap
	}
	return v.parent.provides(reference) == lsv1alpha1.ImportTypeTarget
}

func (v *templateValidator) unsatisfied(at, kind, reference string) {
	help := "import it in the parent, or let another nested installation export it"
	switch v.parent.provides(reference) {
	case lsv1alpha1.ImportTypeTargetList:
		help = fmt.Sprintf("it is a target list: use targetListRef for all of it, or %q for one target", IndexedReference(reference, 0))
	case lsv1alpha1.ImportTypeTargetMap:
		help = fmt.Sprintf("it is a target map: use targetMapRef for all of it, or %q for one target", KeyedReference(reference, "KEY"))
	}
	v.faults.wrong(ReasonImportNotSatisfied, "%s: nothing provides %s %q: %s", at, kind, reference, help)
}
