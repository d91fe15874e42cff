// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
)

// ScopeOf returns the scope that an installation is in.
func ScopeOf(inst *lsv1alpha1.Installation) dataflow.Scope {
	return dataflow.Scope{Namespace: inst.Namespace, Parent: ParentOf(inst)}
}

// ImportsOf returns the objects that an installation imports by name.
func ImportsOf(inst *lsv1alpha1.Installation) []dataflow.ObjectID {
	needs := dataflow.NeedsOf(ScopeOf(inst), inst.Spec.Imports)
	var ids []dataflow.ObjectID
	for _, list := range []struct {
		kind  dataflow.ObjectKind
		names []string
	}{
		{dataflow.KindDataObject, needs.DataObjects},
		{dataflow.KindTarget, needs.Targets},
		{dataflow.KindSecret, needs.Secrets},
		{dataflow.KindConfigMap, needs.ConfigMaps},
	} {
		for _, name := range list.names {
			ids = append(ids, dataflow.ObjectID{Kind: list.kind, Name: name})
		}
	}
	return ids
}

// ExportsOf returns the objects that the exports of an installation become.
func ExportsOf(inst *lsv1alpha1.Installation) []dataflow.ObjectID {
	return dataflow.ExportedObjects(ScopeOf(inst), inst.Spec.Exports)
}
