// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/installation"
)

//espalier:rights installations
//	create,update,delete dataobjects,targets: what an installation hands to those below it, and what it exports
//	deletecollection dataobjects,targets: what it has written goes with an installation

// contextWrites returns the writes of context objects.
func (k *kind) contextWrites(objects installation.ContextWrites) []write {
	var writes []write
	for _, w := range objects.DataObjects {
		writes = append(writes, func(ctx context.Context) error { return k.writeDataObject(ctx, w) })
	}
	for _, w := range objects.Targets {
		writes = append(writes, func(ctx context.Context) error { return k.writeTarget(ctx, w) })
	}
	return writes
}

func (k *kind) writeDataObject(ctx context.Context, w installation.DataObjectWrite) error {
	existing, wanted := w.Existing, w.Wanted
	if existing == nil {
		existing = &lsv1alpha1.DataObject{}
		if found, err := k.create(ctx, wanted, existing); err != nil || !found {
			return err
		}
	}
	changed := existing.DeepCopy()
	takeMetadata(changed, wanted)
	changed.Data = wanted.Data
	if sameJSON(existing.Data, changed.Data) && sameMetadata(existing, changed) {
		return nil
	}
	if err := k.cluster.Update(ctx, changed); err != nil {
		return fmt.Errorf("update DataObject %s: %w", wanted.Name, err)
	}
	return nil
}

func (k *kind) writeTarget(ctx context.Context, w installation.TargetWrite) error {
	existing, wanted := w.Existing, w.Wanted
	if existing == nil {
		existing = &lsv1alpha1.Target{}
		if found, err := k.create(ctx, wanted, existing); err != nil || !found {
			return err
		}
	}
	changed := existing.DeepCopy()
	takeMetadata(changed, wanted)
	changed.Spec = wanted.Spec
	if sameJSON(existing.Spec, changed.Spec) && sameMetadata(existing, changed) {
		return nil
	}
	if err := k.cluster.Update(ctx, changed); err != nil {
		return fmt.Errorf("update Target %s: %w", wanted.Name, err)
	}
	return nil
}

// takeMetadata gives an object the wanted labels, annotations and owners. It keeps those of other clients.
func takeMetadata(object, wanted metav1.Object) {
	object.SetLabels(replaceOwn(object.GetLabels(), wanted.GetLabels()))
	object.SetAnnotations(replaceOwn(object.GetAnnotations(), wanted.GetAnnotations()))
	object.SetOwnerReferences(wanted.GetOwnerReferences())
}

// replaceOwn replaces all entries that belong to this API by the wanted ones.
func replaceOwn(existing, wanted map[string]string) map[string]string {
	result := map[string]string{}
	for name, value := range existing {
		if domain, _, _ := strings.Cut(name, "/"); domain != lsv1alpha1.GroupName && !strings.HasSuffix(domain, "."+lsv1alpha1.GroupName) {
			result[name] = value
		}
	}
	for name, value := range wanted {
		result[name] = value
	}
	return result
}

// sameMetadata compares the metadata that the installation sets. The mark of another update is no reason to write an object.
func sameMetadata(a, b metav1.Object) bool {
	return equality.Semantic.DeepEqual(a.GetLabels(), b.GetLabels()) &&
		equality.Semantic.DeepEqual(unmarked(a.GetAnnotations()), unmarked(b.GetAnnotations())) &&
		equality.Semantic.DeepEqual(a.GetOwnerReferences(), b.GetOwnerReferences()) &&
		equality.Semantic.DeepEqual(a.GetFinalizers(), b.GetFinalizers())
}

func unmarked(annotations map[string]string) map[string]string {
	others := merged(annotations, nil)
	delete(others, installation.UpdateAnnotation)
	return others
}

// removeLeftovers deletes context objects of earlier runs. An object that was written meanwhile is not one of them.
func (k *kind) removeLeftovers(ctx context.Context, leftovers dataflow.Objects) error {
	var objects []client.Object
	for _, object := range leftovers.DataObjects {
		objects = append(objects, object)
	}
	for _, target := range leftovers.Targets {
		objects = append(objects, target)
	}
	for _, object := range objects {
		uid, version := object.GetUID(), object.GetResourceVersion()
		err := k.cluster.Delete(ctx, object.DeepCopyObject().(client.Object), client.Preconditions{UID: &uid, ResourceVersion: &version})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete %s: %w", object.GetName(), err)
		}
	}
	return nil
}

// removeContext deletes all context objects of an installation. If a cache that remembers shows none of a kind, none exist.
func (k *kind) removeContext(ctx context.Context, inst *lsv1alpha1.Installation) error {
	written, err := k.ownContext(ctx, inst)
	if err != nil {
		return fmt.Errorf("list the objects of the installation: %w", err)
	}
	var kinds []client.Object
	if len(written.DataObjects) > 0 || !k.remembers {
		kinds = append(kinds, &lsv1alpha1.DataObject{})
	}
	if len(written.Targets) > 0 || !k.remembers {
		kinds = append(kinds, &lsv1alpha1.Target{})
	}
	for _, object := range kinds {
		err := k.cluster.DeleteAllOf(ctx, object, client.InNamespace(inst.Namespace),
			client.MatchingLabels{lsv1alpha1.DataObjectSourceLabel: dataflow.ContextOf(inst.Name)})
		if err != nil {
			return fmt.Errorf("delete the objects of the installation: %w", err)
		}
	}
	return k.removeEstranged(ctx, inst)
}

// removeEstranged deletes context objects of an installation that have lost the label of their writer. Their names tell whose they are, and
// the hash that an installation has written them: an object that a user has created has none.
func (k *kind) removeEstranged(ctx context.Context, inst *lsv1alpha1.Installation) error {
	for _, id := range append(dataflow.ImportedObjects(inst.Name, &inst.Spec), installation.ExportsOf(inst)...) {
		object := emptyOf(id)
		if err := k.cluster.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: id.Name}, object); err != nil {
			if apierrors.IsNotFound(err) {
				continue
			}
			return fmt.Errorf("read %s %s: %w", id.Kind, id.Name, err)
		}
		other := slices.ContainsFunc(object.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID != inst.UID })
		source, hash := object.GetLabels()[lsv1alpha1.DataObjectSourceLabel], object.GetAnnotations()[lsv1alpha1.DataObjectHashAnnotation]
		if other || source != "" || hash == "" {
			continue
		}
		uid, version := object.GetUID(), object.GetResourceVersion()
		err := k.cluster.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &version})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete %s %s, which has lost the label of its writer: %w", id.Kind, id.Name, err)
		}
	}
	return nil
}
