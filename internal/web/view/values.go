// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"maps"
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/objecttree"
)

// States of values.
const (
	valueThere      = "there"
	valueDefault    = "default"
	valueMissing    = "missing"
	valueNotWritten = "not-written"
)

// values determine where imports come from and exports go to.
type values struct {
	scene     Scene
	relations *relations
	present   map[Ref]bool
	// needs are the imports of installations, each computed once.
	needs map[*objecttree.Node]dataflow.Needs
}

func newValues(s Scene, r *relations) *values {
	v := &values{
		scene: s, relations: r, present: make(map[Ref]bool, len(s.DataObjects)+len(s.Targets)), needs: map[*objecttree.Node]dataflow.Needs{},
	}
	for _, object := range s.DataObjects {
		v.present[Ref{"DataObject", object.Namespace, object.Name}] = true
	}
	for _, target := range s.Targets {
		v.present[Ref{"Target", target.Namespace, target.Name}] = true
	}
	return v
}

// of returns the imports and exports of an object.
func (v *values) of(node *objecttree.Node, known objecttree.Explanation) (imports, exports []Value) {
	switch object := node.Object.(type) {
	case *lsv1alpha1.Installation:
		return v.imports(node, object, known), v.exports(node, object)
	case *lsv1alpha1.DeployItem:
		return ofItem(object)
	}
	return []Value{}, []Value{}
}

// ofItem returns the target of a deploy item, and the Secret to which its deployer has written exports.
func ofItem(item *lsv1alpha1.DeployItem) (imports, exports []Value) {
	imports, exports = []Value{}, []Value{}
	if target := item.Spec.Target; target != nil {
		imports = append(imports, Value{
			Name: "target", Kind: "target", State: valueThere, Source: &Ref{"Target", item.Namespace, target.Name}, Secret: true,
		})
	}
	if export := item.Status.ExportReference; export != nil {
		exports = append(exports, Value{
			Name: "exports", Kind: "data", State: valueThere, Source: &Ref{"Secret", item.Namespace, export.Name},
			Key: lsv1alpha1.ExportSecretKey, Secret: true,
		})
	}
	return imports, exports
}

func (v *values) imports(node *objecttree.Node, object *lsv1alpha1.Installation, known objecttree.Explanation) []Value {
	all := []Value{}
	blueprint := declaredBy(object)
	for _, data := range object.Spec.Imports.Data {
		value := v.dataImport(node, data, known)
		value.Type = blueprint.typeOfImport(data.Name)
		all = append(all, value)
	}
	for _, target := range object.Spec.Imports.Targets {
		for _, value := range v.targetImport(node, target, known) {
			value.Type = blueprint.typeOfImport(target.Name)
			all = append(all, value)
		}
	}
	return append(all, blueprint.defaults(provides(object))...)
}

func (v *values) dataImport(node *objecttree.Node, data lsv1alpha1.DataImport, known objecttree.Explanation) Value {
	value := Value{Name: data.Name, Kind: "data", State: valueThere, Secret: isSecret(node, data.Name, 0)}
	switch {
	case data.SecretRef != nil:
		value.Source, value.Key = &Ref{"Secret", node.Namespace(), data.SecretRef.Name}, data.SecretRef.Key
	case data.ConfigMapRef != nil:
		value.Source, value.Key = &Ref{"ConfigMap", node.Namespace(), data.ConfigMapRef.Name}, data.ConfigMapRef.Key
	default:
		v.locate(&value, node, dataflow.ObjectID{Kind: dataflow.KindDataObject, Name: scopeOf(node).ObjectName(data.DataRef)})
	}
	if saidMissing(known, data.Name) && value.Giver == nil {
		value.State = valueMissing
	}
	return value
}

// maxDepth ends the search if labels are circular: anybody can write labels.
const maxDepth = 100

// isSecret reports whether a value comes from a Secret, through any number of installations.
func isSecret(node *objecttree.Node, name string, depth int) bool {
	object, ok := node.Installation()
	if !ok || depth > maxDepth {
		return false
	}
	i := slices.IndexFunc(object.Spec.Imports.Data, func(d lsv1alpha1.DataImport) bool { return d.Name == name })
	if i < 0 {
		return false
	}
	data := object.Spec.Imports.Data[i]
	return data.SecretRef != nil || node.Above != nil && data.DataRef != "" && isSecret(node.Above, data.DataRef, depth+1)
}

// targetImport returns a single target, or each target of a list or map. One that the parent imports as a whole is not split.
func (v *values) targetImport(node *objecttree.Node, target lsv1alpha1.TargetImport, known objecttree.Explanation) []Value {
	var all []Value
	add := func(name, kind, reference string) {
		value := Value{Name: name, Kind: kind, State: valueThere, Secret: true}
		v.locate(&value, node, dataflow.ObjectID{Kind: dataflow.KindTarget, Name: scopeOf(node).ObjectName(reference)})
		if saidMissing(known, target.Name) && value.Giver == nil && !v.present[*value.Source] {
			value.State = valueMissing
		}
		all = append(all, value)
	}
	switch {
	case target.Target != "":
		add(target.Name, "target", target.Target)
	case target.Targets != nil:
		for i, reference := range target.Targets {
			add(dataflow.IndexedReference(target.Name, i), "targetList", reference)
		}
	case target.TargetMap != nil:
		for _, key := range slices.Sorted(maps.Keys(target.TargetMap)) {
			add(dataflow.KeyedReference(target.Name, key), "targetList", target.TargetMap[key])
		}
	default:
		value := Value{Name: target.Name, Kind: "targetList", State: valueThere, Secret: true}
		if node.Above != nil {
			giver := refOf(node.Above)
			value.Giver = &giver
		}
		all = append(all, value)
	}
	return all
}

// locate determines which object holds a value, who writes it, and whether it exists.
func (v *values) locate(value *Value, node *objecttree.Node, id dataflow.ObjectID) {
	source := Ref{string(id.Kind), node.Namespace(), id.Name}
	value.Source = &source
	giver := v.relations.exporter(node, id)
	if giver == nil && node.Above != nil && v.handedDown(node, id) {
		giver = node.Above
	}
	if giver != nil {
		ref := refOf(giver)
		value.Giver = &ref
	}
	if !v.present[source] {
		value.State = absent(giver, v.unlisted(id.Kind, node.Namespace()))
	}
}

// absent returns the state of a value whose object was not found. If the reader may not list such objects, the writer's state decides.
func absent(giver *objecttree.Node, unlisted bool) string {
	switch {
	case giver == nil && !unlisted:
		return valueMissing
	case giver == nil || unlisted && giver.State() == objecttree.Succeeded:
		return valueThere
	}
	return valueNotWritten
}

// handedDown reports whether an object is an import of the parent, which writes it for its nested objects.
func (v *values) handedDown(node *objecttree.Node, id dataflow.ObjectID) bool {
	parent, ok := node.Above.Installation()
	if !ok {
		return false
	}
	same := func(name string) bool { return scopeOf(node).ObjectName(name) == id.Name }
	if id.Kind == dataflow.KindTarget {
		return slices.ContainsFunc(parent.Spec.Imports.Targets, func(t lsv1alpha1.TargetImport) bool { return same(t.Name) })
	}
	mapped := false
	for name := range parent.Spec.ImportDataMappings {
		mapped = mapped || same(name)
	}
	return mapped || slices.ContainsFunc(parent.Spec.Imports.Data, func(d lsv1alpha1.DataImport) bool { return same(d.Name) })
}

// unlisted reports whether the reader may not list the objects of a kind.
func (v *values) unlisted(kind dataflow.ObjectKind, namespace string) bool {
	if kind == dataflow.KindTarget {
		return !v.scene.mayList(listedTargets, namespace)
	}
	return !v.scene.mayList(listedDataObjects, namespace)
}

func (v *values) exports(node *objecttree.Node, object *lsv1alpha1.Installation) []Value {
	all := []Value{}
	scope, blueprint := scopeOf(node), declaredBy(object)
	add := func(name, kind string, holder dataflow.ObjectKind, reference string) {
		id := dataflow.ObjectID{Kind: holder, Name: scope.ObjectName(reference)}
		source := Ref{string(id.Kind), node.Namespace(), id.Name}
		value := Value{
			Name: name, Kind: kind, Type: blueprint.typeOfExport(name), State: valueNotWritten, Source: &source, Secret: kind == "target",
			Reference: reference,
		}
		if v.present[source] || v.unlisted(id.Kind, node.Namespace()) && node.State() == objecttree.Succeeded {
			value.State = valueThere
		}
		value.Takers, value.OtherTakers = v.takers(node, id)
		all = append(all, value)
	}
	for _, export := range object.Spec.Exports.Data {
		add(export.Name, "data", dataflow.KindDataObject, export.DataRef)
	}
	for _, export := range object.Spec.Exports.Targets {
		add(export.Name, "target", dataflow.KindTarget, export.Target)
	}
	return all
}

// mostTakers is the maximum number of named installations that import an export.
const mostTakers = 5

// takers returns the installations that import an object, and how many of them are not named.
func (v *values) takers(node *objecttree.Node, id dataflow.ObjectID) (named []Ref, others int) {
	siblings := v.relations.siblings(node)
	if siblings == nil {
		return nil, 0
	}
	for _, taker := range v.relations.named(node.Namespace(), siblings.Successors(node.Name())) {
		switch {
		case !v.takes(taker, id):
		case len(named) == mostTakers:
			others++
		default:
			named = append(named, refOf(taker))
		}
	}
	return named, others
}

func (v *values) takes(node *objecttree.Node, id dataflow.ObjectID) bool {
	needs, known := v.needs[node]
	if object, ok := node.Installation(); ok && !known {
		needs = dataflow.NeedsOf(scopeOf(node), object.Spec.Imports)
		v.needs[node] = needs
	}
	if id.Kind == dataflow.KindTarget {
		return slices.Contains(needs.Targets, id.Name)
	}
	return slices.Contains(needs.DataObjects, id.Name)
}
