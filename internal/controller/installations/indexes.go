// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/installation"
)

// The indexes make the cost of every lookup independent of the number of objects in a namespace.
const (
	// parentIndex finds nested installations by their parent.
	parentIndex = "parent"
	// recordIndex finds installations by the nested ones that their status records.
	recordIndex = "record"
	// importsIndex and exportsIndex find installations by the objects that they import and export.
	importsIndex = "imports"
	exportsIndex = "exports"
	// sourceIndex finds context objects by their writer, contextIndex by their scope.
	sourceIndex  = "source"
	contextIndex = "context"
	// secretIndex finds Targets by the Secret that holds their content.
	secretIndex = "secret"
)

const (
	kindDataObject = dataflow.KindDataObject
	kindTarget     = dataflow.KindTarget
	kindSecret     = dataflow.KindSecret
	kindConfigMap  = dataflow.KindConfigMap
)

func addIndexes(mgr ctrl.Manager) error {
	for _, index := range []struct {
		object  client.Object
		name    string
		extract client.IndexerFunc
	}{
		{&lsv1alpha1.Installation{}, parentIndex, parentOf},
		{&lsv1alpha1.Installation{}, recordIndex, func(o client.Object) []string { return knownSubs(o.(*lsv1alpha1.Installation)) }},
		{&lsv1alpha1.Installation{}, jobIndex, jobsUnderWay},
		{&lsv1alpha1.Installation{}, importsIndex, keysBy(installation.ImportsOf)},
		{&lsv1alpha1.Installation{}, exportsIndex, keysBy(installation.ExportsOf)},
		{&lsv1alpha1.DataObject{}, sourceIndex, label(lsv1alpha1.DataObjectSourceLabel)},
		{&lsv1alpha1.DataObject{}, contextIndex, label(lsv1alpha1.DataObjectContextLabel)},
		{&lsv1alpha1.Target{}, sourceIndex, label(lsv1alpha1.DataObjectSourceLabel)},
		{&lsv1alpha1.Target{}, contextIndex, label(lsv1alpha1.DataObjectContextLabel)},
		{&lsv1alpha1.Target{}, secretIndex, func(o client.Object) []string {
			return dataflow.SecretsOf([]*lsv1alpha1.Target{o.(*lsv1alpha1.Target)})
		}},
	} {
		if err := mgr.GetFieldIndexer().IndexField(context.Background(), index.object, index.name, index.extract); err != nil {
			return fmt.Errorf("index %T by %s: %w", index.object, index.name, err)
		}
	}
	return nil
}

func parentOf(object client.Object) []string {
	if parent := installation.ParentOf(object); parent != "" {
		return []string{parent}
	}
	return nil
}

// recordedParent returns the installation whose status records a nested installation that names no parent, because another client has
// removed its label and its owner. For a root it returns nothing.
func recordedParent(ctx context.Context, reader client.Reader, inst *lsv1alpha1.Installation) (string, error) {
	if !installation.IsRoot(inst) {
		return "", nil
	}
	var list lsv1alpha1.InstallationList
	err := reader.List(
		ctx,
		&list,
		client.InNamespace(inst.Namespace),
		client.MatchingFields{recordIndex: inst.Name},
		client.UnsafeDisableDeepCopy,
	)
	if err != nil {
		return "", fmt.Errorf("list the objects that have recorded installation %s: %w", inst.Name, err)
	}
	for i := range list.Items {
		if list.Items[i].Name != inst.Name {
			return list.Items[i].Name, nil
		}
	}
	return "", nil
}

func label(name string) client.IndexerFunc {
	return func(object client.Object) []string {
		if value := object.GetLabels()[name]; value != "" {
			return []string{value}
		}
		return nil
	}
}

// keysBy indexes installations by objects that they refer to.
func keysBy(references func(*lsv1alpha1.Installation) []dataflow.ObjectID) client.IndexerFunc {
	return func(o client.Object) []string { return keysOf(references(o.(*lsv1alpha1.Installation))) }
}

func keysOf(ids []dataflow.ObjectID) []string {
	keys := make([]string, 0, len(ids))
	for _, id := range ids {
		keys = append(keys, keyOf(id))
	}
	return keys
}

func keyOf(id dataflow.ObjectID) string { return string(id.Kind) + "/" + id.Name }
