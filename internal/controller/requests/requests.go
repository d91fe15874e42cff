// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package requests makes the annotation with which Flux tools request a reconcile work here, too.
//
// A new value of reconcile.fluxcd.io/requestedAt becomes operation=reconcile, once. Both are metadata, so one write adds the latter and
// records the value. The status, in which tools see the acknowledgement, follows once the operation is gone: until then, Ready may still
// show the result of what ran before the request. A crash between the two writes loses and repeats nothing.
package requests

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/loop"
)

const (
	// Annotation is the annotation with which Flux tools request a reconcile, with any new value.
	Annotation = "reconcile.fluxcd.io/requestedAt"
	// TakenAnnotation is the last value that was turned into an operation.
	TakenAnnotation = "espalier.dev/requested-at-taken"
)

// Kind is a kind whose objects accept requests for a reconcile.
type Kind[T client.Object] struct {
	// Name is the name of the controller.
	Name string
	New  func() T
	// Obeys reports whether operation=reconcile has an effect on the object itself, now. Other objects are reached through their parents.
	Obeys  func(T) bool
	Status func(T) *lsv1alpha1.RunStatus
}

// Setup adds the controller that handles requests for a kind.
func Setup[T client.Object](mgr ctrl.Manager, kind Kind[T]) error {
	asks := predicate.NewPredicateFuncs(func(object client.Object) bool { return object.GetAnnotations()[Annotation] != "" })
	return ctrl.NewControllerManagedBy(mgr).Named(kind.Name+"-requests").
		For(kind.New(), builder.WithPredicates(asks)).
		WithOptions(loop.OptionsFor(mgr, kind.New(), 1)).
		Complete(hearing[T]{kind: kind, cluster: mgr.GetClient()})
}

type hearing[T client.Object] struct {
	kind    Kind[T]
	cluster client.Client
}

//espalier:rights installations
//	patch installations,installations/status: a request of Flux becomes one of ours, and is acknowledged

//espalier:rights executions
//	patch executions,executions/status: a request of Flux becomes one of ours, and is acknowledged

//espalier:rights deployitems
//	patch deployitems,deployitems/status: a request of Flux becomes one of ours, and is acknowledged

// Reconcile handles the request on one object.
func (h hearing[T]) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	object := h.kind.New()
	if err := h.cluster.Get(ctx, request.NamespacedName, object); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	err := h.hear(ctx, object)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return reconcile.Result{}, nil // the change triggers another pass
	}
	return reconcile.Result{}, err
}

func (h hearing[T]) hear(ctx context.Context, object T) error {
	asked := object.GetAnnotations()[Annotation]
	status := h.kind.Status(object)
	if asked == "" || status.LastHandledReconcileAt == asked {
		return nil
	}
	operation := lsv1alpha1.Operation(object.GetAnnotations()[lsv1alpha1.OperationAnnotation])
	if object.GetAnnotations()[TakenAnnotation] != asked {
		if !h.kind.Obeys(object) || operation != "" && operation != lsv1alpha1.OperationReconcile {
			return nil // an earlier request comes first; its end triggers another pass
		}
		return loop.PatchMetadata(ctx, h.cluster, object, func(m metav1.Object) {
			m.GetAnnotations()[lsv1alpha1.OperationAnnotation] = string(lsv1alpha1.OperationReconcile)
			m.GetAnnotations()[TakenAnnotation] = asked
		})
	}
	if operation != "" {
		return nil // its removal triggers another pass
	}
	before := object.DeepCopyObject().(client.Object)
	status.LastHandledReconcileAt = asked
	if err := h.cluster.Status().Patch(ctx, object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("record the request of %s: %w", client.ObjectKeyFromObject(object), err)
	}
	return nil
}
