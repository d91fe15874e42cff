// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// maxNesting limits the walk up the labels: any user can create a cycle.
const maxNesting = 50

//espalier:rights deployer-*
//	get executions,installations: the message about a missing Target names the root, and nothing is repaired below a suspended one

// rootOf returns the name of the root installation of an item, empty if it has none or the objects above it cannot be read.
// It is called only for messages about how to end a deletion.
func (k *kind) rootOf(ctx context.Context, item *lsv1alpha1.DeployItem) string {
	if root, err := k.root(ctx, item); err == nil && root != nil {
		return root.Name
	}
	return ""
}

// isSuspended reports whether the tree that an item belongs to is suspended. A tree whose root the deployer may not read counts as
// not suspended; one whose root it could not read is an error.
func (k *kind) isSuspended(ctx context.Context, item *lsv1alpha1.DeployItem) (bool, error) {
	root, err := k.root(ctx, item)
	return root != nil && root.Annotations[lsv1alpha1.SuspendAnnotation] == "true", err
}

// root returns the metadata of the root installation of an item; nil if it has none or the deployer may not read the objects above
// it.
func (k *kind) root(ctx context.Context, item *lsv1alpha1.DeployItem) (*metav1.PartialObjectMetadata, error) {
	execution, err := k.above(ctx, "Execution", client.ObjectKey{
		Namespace: item.Namespace, Name: item.Labels[lsv1alpha1.ExecutionManagedByLabel],
	})
	if execution == nil {
		return nil, err
	}
	owner := metav1.GetControllerOfNoCopy(execution)
	if owner == nil || owner.Kind != "Installation" {
		return nil, nil
	}
	name := owner.Name
	for range maxNesting {
		installation, err := k.above(ctx, "Installation", client.ObjectKey{Namespace: item.Namespace, Name: name})
		if installation == nil {
			return nil, err
		}
		parent := installation.Labels[lsv1alpha1.EncompassedByLabel]
		if parent == "" {
			return installation, nil
		}
		name = parent
	}
	return nil, nil
}

// above returns the metadata of an object above an item; nil if it does not exist or the deployer may not read it.
func (k *kind) above(ctx context.Context, kind string, key client.ObjectKey) (*metav1.PartialObjectMetadata, error) {
	if key.Name == "" {
		return nil, nil
	}
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(lsv1alpha1.SchemeGroupVersion.WithKind(kind))
	err := k.live.Get(ctx, key, object)
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s %s: %w", kind, key, err)
	}
	return object, nil
}
