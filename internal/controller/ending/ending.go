// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package ending determines which namespaces are being deleted. All objects in such a namespace are deleted, in no particular order, and
// nothing can be created in it any more.
package ending

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"espalier.dev/internal/failure"
)

// Reason is the reason of a wait for the deletion of the namespace.
const Reason = "NamespaceTerminating"

// Namespaces reports which namespaces are being deleted.
type Namespaces struct {
	// Cache is read first; Live is the API server.
	Cache, Live client.Reader
}

// Of returns the Namespaces of a manager.
func Of(mgr ctrl.Manager) Namespaces {
	return Namespaces{Cache: mgr.GetClient(), Live: mgr.GetAPIReader()}
}

//espalier:rights installations,executions,deployitems
//	get,list,watch namespaces: to release the objects in a namespace that is being deleted

// Ends reports whether a namespace is being deleted. Objects that are released because of that cannot be recovered, so the API server is
// asked too: the cache may still show an earlier namespace of that name.
func (n Namespaces) Ends(ctx context.Context, name string) (bool, error) {
	for _, reader := range []client.Reader{n.Cache, n.Live} {
		namespace := &metav1.PartialObjectMetadata{}
		namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		err := reader.Get(ctx, client.ObjectKey{Name: name}, namespace)
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("read namespace %s: %w", name, err)
		}
		if err != nil || namespace.DeletionTimestamp.IsZero() {
			return false, nil
		}
	}
	return true, nil
}

// Watch makes a controller reconcile all of its objects in a namespace when the deletion of the namespace starts: objects that were
// deleted before get no other event. list is the list type of those objects.
func Watch(b *builder.Builder, reader client.Reader, list client.ObjectList) *builder.Builder {
	objects := func(ctx context.Context, namespace client.Object) []reconcile.Request {
		found := list.DeepCopyObject().(client.ObjectList)
		if err := reader.List(ctx, found, client.InNamespace(namespace.GetName()), client.UnsafeDisableDeepCopy); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "List the objects of a namespace that is being deleted", "namespace", namespace.GetName())
			return nil
		}
		var requests []reconcile.Request
		_ = meta.EachListItem(found, func(object runtime.Object) error {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object.(client.Object))})
			return nil
		})
		return requests
	}
	return b.Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(objects), builder.OnlyMetadata, builder.WithPredicates(begins()))
}

// begins passes a namespace when its deletion is requested.
func begins() predicate.Predicate {
	deleting := func(object client.Object) bool { return !object.GetDeletionTimestamp().IsZero() }
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return deleting(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return !deleting(e.ObjectOld) && deleting(e.ObjectNew) },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// Refused turns the error that nothing can be created in a namespace because it is being deleted into a wait. The event about the
// namespace ends the wait; until then, another attempt would fail the same way.
func Refused(err error) error {
	if !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return err
	}
	return &failure.Wait{Reason: Reason, For: "the namespace to be deleted; no objects can be created in it"}
}
