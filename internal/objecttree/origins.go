// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package objecttree

import (
	"context"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
)

// Origins traces Targets that installations have copied for what they contain back to those that users have created.
type Origins struct {
	targets map[types.NamespacedName]metav1.Object
	forest  *Forest
}

// NewOrigins returns the Origins of a forest's Targets. Only their metadata matter.
func NewOrigins(forest *Forest) *Origins {
	return &Origins{targets: map[types.NamespacedName]metav1.Object{}, forest: forest}
}

// ReadOrigins reads the metadata of the Targets of a namespace, or of all if it is empty: Targets contain credentials. For a user who may
// not list them, every Target is its own origin.
func ReadOrigins(ctx context.Context, c client.Reader, forest *Forest, namespace string) *Origins {
	o := NewOrigins(forest)
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(lsv1alpha1.SchemeGroupVersion.WithKind("TargetList"))
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return o
	}
	for i := range list.Items {
		o.Add(&list.Items[i])
	}
	return o
}

// Add adds a Target.
func (o *Origins) Add(target metav1.Object) {
	o.targets[types.NamespacedName{Namespace: target.GetNamespace(), Name: target.GetName()}] = target
}

// IsCopy reports whether an installation has created a Target for what it contains.
func IsCopy(target metav1.Object) bool {
	return target.GetLabels()[lsv1alpha1.DataObjectSourceTypeLabel] == lsv1alpha1.DataObjectSourceImport
}

// maxCopies ends the search in cyclic labels: anybody can write labels.
const maxCopies = 100

// Of returns the name of the Target that one was originally copied from; the name itself if it is not a copy, or if the original is
// unknown.
func (o *Origins) Of(namespace, name string) string {
	for range maxCopies {
		target := o.targets[types.NamespacedName{Namespace: namespace, Name: name}]
		if target == nil || !IsCopy(target) {
			return name
		}
		before, found := o.before(target)
		if !found {
			return name
		}
		name = before
	}
	return name
}

// Name returns the users' name for a Target: the name of the one that it was copied from or, if that has a generated name because it was
// exported among nested installations, their name for it.
func (o *Origins) Name(namespace, name string) string {
	origin := o.Of(namespace, name)
	target := o.targets[types.NamespacedName{Namespace: namespace, Name: origin}]
	if target == nil || target.GetLabels()[lsv1alpha1.DataObjectContextLabel] == "" {
		return origin
	}
	labels := target.GetLabels()
	called := labels[lsv1alpha1.DataObjectKeyLabel]
	switch {
	case called == "":
		return origin
	case labels[lsv1alpha1.DataObjectTargetMapKeyLabel] != "":
		return dataflow.KeyedReference(called, labels[lsv1alpha1.DataObjectTargetMapKeyLabel])
	}
	return called
}

// before returns the name of the Target that one was copied from.
func (o *Origins) before(target metav1.Object) (string, bool) {
	name, ok := dataflow.InstallationOf(target.GetLabels()[lsv1alpha1.DataObjectSourceLabel])
	node := o.forest.Installation(target.GetNamespace(), name)
	if !ok || node == nil {
		return "", false
	}
	object, _ := node.Installation()
	scope := dataflow.Scope{Namespace: node.Namespace(), Parent: ParentOf(node.Object)}
	for _, imported := range object.Spec.Imports.Targets {
		if imported.Name == target.GetLabels()[lsv1alpha1.DataObjectKeyLabel] {
			reference, found := elementOf(imported, target.GetLabels())
			return scope.ObjectName(reference), found
		}
	}
	return "", false
}

// elementOf returns what a copy of a single target, or of one of a list or map, refers to.
func elementOf(imported lsv1alpha1.TargetImport, labels map[string]string) (string, bool) {
	if imported.Target != "" {
		return imported.Target, true
	}
	if key, keyed := labels[lsv1alpha1.DataObjectTargetMapKeyLabel]; keyed {
		if imported.TargetMapReference != "" {
			return dataflow.KeyedReference(imported.TargetMapReference, key), true
		}
		return imported.TargetMap[key], imported.TargetMap[key] != ""
	}
	index, err := strconv.Atoi(labels[lsv1alpha1.DataObjectIndexLabel])
	switch {
	case err != nil || index < 0:
		return "", false
	case imported.TargetListReference != "":
		return dataflow.IndexedReference(imported.TargetListReference, index), true
	case index < len(imported.Targets):
		return imported.Targets[index], true
	}
	return "", false
}
