// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/objecttree"
)

// ObjectError says why an object of a reachable cluster cannot be shown.
type ObjectError struct {
	// Gone is set if there is no such object, Strange if it does not belong to the deploy item.
	Gone, Strange bool
	cause         error
}

func (e *ObjectError) Error() string { return e.cause.Error() }
func (e *ObjectError) Unwrap() error { return e.cause }

// Object reads the current state of one object of a deploy item: one that Look returns, down to pods. Other objects are not shown, even if
// the Target permits reading them. An error other than an ObjectError says why the cluster as a whole could not be read.
func (r Reader) Object(
	ctx context.Context,
	item *lsv1alpha1.DeployItem,
	deployed objecttree.Deployed,
	wanted objecttree.DeployedObject,
) (*unstructured.Unstructured, error) {
	ctx, cancel := r.within(ctx)
	defer cancel()
	reader, err := r.clusterOf(ctx, item)
	if err != nil {
		return nil, err
	}
	known, err := knownOf(ctx, reader, deployed)
	if err != nil {
		return nil, err
	}
	gvk := schema.FromAPIVersionAndKind(wanted.APIVersion, wanted.Kind)
	recorded := isAmong(known, wanted)
	if !recorded && gvk != pods && gvk != replicaSets {
		return nil, strange(item, wanted)
	}
	found, err := read(ctx, reader, gvk, client.ObjectKey{Namespace: wanted.Namespace, Name: wanted.Name})
	if err != nil {
		return nil, err
	}
	if !recorded && !belongs(ctx, reader, found, known) {
		return nil, strange(item, wanted)
	}
	return found, nil
}

// knownOf returns the objects that a deploy item has recorded, or those of its release if it has recorded none.
func knownOf(ctx context.Context, reader client.Client, deployed objecttree.Deployed) ([]objecttree.DeployedObject, error) {
	if release := deployed.Release; release != nil && release.Revision > 0 && len(deployed.Objects) == 0 {
		return objectsOf(ctx, reader, *release)
	}
	return deployed.Objects, nil
}

func strange(item *lsv1alpha1.DeployItem, wanted objecttree.DeployedObject) error {
	return &ObjectError{Strange: true, cause: fmt.Errorf("%s %s is not an object of deploy item %s", wanted.Kind, wanted.Name, item.Name)}
}

func isAmong(known []objecttree.DeployedObject, wanted objecttree.DeployedObject) bool {
	return slices.ContainsFunc(known, func(k objecttree.DeployedObject) bool {
		return k.APIVersion == wanted.APIVersion && k.Kind == wanted.Kind && k.Namespace == wanted.Namespace && k.Name == wanted.Name
	})
}

func read(
	ctx context.Context, reader client.Reader, gvk schema.GroupVersionKind, key client.ObjectKey,
) (*unstructured.Unstructured, error) {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(gvk)
	if err := reader.Get(ctx, key, found); err != nil {
		refused := cluster.Refused("read", cluster.Subject{GVK: gvk, Key: key}, err)
		return nil, &ObjectError{Gone: apierrors.IsNotFound(err), cause: refused}
	}
	return found, nil
}

// belongs reports whether the controllers of Kubernetes have created an object for a known workload, directly or indirectly.
func belongs(ctx context.Context, reader client.Reader, object *unstructured.Unstructured, known []objecttree.DeployedObject) bool {
	owner := metav1.GetControllerOf(object)
	if owner == nil {
		return false
	}
	gvk := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
	if makes[gvk.GroupKind()] != object.GroupVersionKind() {
		return false
	}
	above, err := read(ctx, reader, gvk, client.ObjectKey{Namespace: object.GetNamespace(), Name: owner.Name})
	if err != nil || above.GetUID() != owner.UID {
		return false
	}
	return isAmong(known, objecttree.DeployedObject{
		APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: above.GetNamespace(), Name: above.GetName(),
	}) || belongs(ctx, reader, above, known)
}
