// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"maps"
	"strconv"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Objects returns the context objects of the imports for the scope that the installation opens. It takes data from Values, to which import
// executions may have added values by then; targets are copies of the imported ones.
func (i *Imports) Objects(owner Owner) (Objects, error) {
	faults := &faults{operation: OperationCreateImports}
	var objects Objects
	for _, bound := range i.bound {
		if IsGlobal(bound.name) {
			faults.wrong(ReasonImportInvalid, "blueprint import %q cannot be stored: a name must not start with #", bound.name)
			continue
		}
		if problem := checkReference(bound.name); problem != "" {
			faults.wrong(ReasonImportInvalid, "blueprint import %q cannot be stored under its name: %s", bound.name, problem)
			continue
		}
		m := importMark(owner, bound.name)
		if bound.kind != lsv1alpha1.ImportTypeData {
			objects.Targets = append(objects.Targets, bound.targetObjects(m)...)
			continue
		}
		object, err := m.dataObject(i.Values[bound.name])
		if err != nil {
			faults.wrong(ReasonImportInvalid, "import %q has no JSON form", bound.name)
			continue
		}
		objects.DataObjects = append(objects.DataObjects, object)
	}
	return objects, faults.asError()
}

// ImportedObjects returns the names that Objects gives to the imports of an installation, as far as its spec determines them: the elements
// of a list or map that it takes over from its parent are missing.
func ImportedObjects(installation string, spec *lsv1alpha1.InstallationSpec) []ObjectID {
	var result []ObjectID
	add := func(kind ObjectKind, reference string) {
		result = append(result, ObjectID{Kind: kind, Name: ObjectName(ContextOf(installation), reference)})
	}
	for _, data := range spec.Imports.Data {
		add(KindDataObject, data.Name)
	}
	for _, name := range sorted(maps.Keys(spec.ImportDataMappings)) {
		add(KindDataObject, name)
	}
	for _, target := range spec.Imports.Targets {
		switch {
		case target.Target != "":
			add(KindTarget, target.Name)
		case target.Targets != nil:
			for i := range target.Targets {
				add(KindTarget, IndexedReference(target.Name, i))
			}
		default:
			for _, key := range sorted(maps.Keys(target.TargetMap)) {
				add(KindTarget, KeyedReference(target.Name, key))
			}
		}
	}
	return result
}

func (b boundImport) targetObjects(m mark) []*lsv1alpha1.Target {
	var result []*lsv1alpha1.Target
	for position, target := range b.targets {
		reference := b.name
		switch b.kind {
		case lsv1alpha1.ImportTypeTargetList:
			m.index = strconv.Itoa(position)
			reference = IndexedReference(b.name, position)
		case lsv1alpha1.ImportTypeTargetMap:
			m.key = target.Key
			reference = KeyedReference(b.name, target.Key)
		}
		result = append(result, m.target(ObjectName(m.context, reference), target.Target))
	}
	return result
}
