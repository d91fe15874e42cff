// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package ending knows the namespaces that are being deleted. Everything in such a namespace is asked to go, in no particular order, and
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

// Reason says that something waits for the end of its namespace.
const Reason = "NamespaceTerminating"

// Namespaces tells which namespaces are being deleted.
type Namespaces struct {
	// Cache is asked first, Live is the API server.
	Cache, Live client.Reader
}

// Of returns the namespaces that a manager sees.
func Of(mgr ctrl.Manager) Namespaces {
	return Namespaces{Cache: mgr.GetClient(), Live: mgr.GetAPIReader()}
}

//espalier:rights installations,executions,deployitems
//	get,list,watch namespaces: what is in a namespace that is being deleted is let go

// Ends reports whether a namespace is being deleted. What is let go because of that does not come back, so the API server has the last
// word: the cache may still show a namespace that was there before.
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

// Watch has a controller look at all of its objects in a namespace that begins to be deleted: those that were deleted before get no other
// event. The list is one of those objects.
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

// begins lets a namespace through when its deletion is asked for.
func begins() predicate.Predicate {
	deleting := func(object client.Object) bool { return !object.GetDeletionTimestamp().IsZero() }
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return deleting(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return !deleting(e.ObjectOld) && deleting(e.ObjectNew) },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// Refused makes a wait of the answer that nothing can be created in a namespace because it is being deleted. The event about the namespace
// ends the wait; until it is seen, another attempt would come to the same.
func Refused(err error) error {
	if !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return err
	}
	return &failure.Wait{Reason: Reason, For: "the end of the namespace, which is being deleted: nothing can be created in it any more"}
}
