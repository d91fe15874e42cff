// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/loop"
)

// ContextsName is the name of the controller that SetupContexts adds.
const ContextsName = "contexts"

// ContextsOptions configure the controller of default Contexts.
type ContextsOptions struct {
	// Namespaces are the only ones that get a default Context; empty means all.
	Namespaces []string
	// ExcludedNamespaces get no default Context.
	ExcludedNamespaces []string
	// Workers is how many namespaces are reconciled concurrently.
	Workers int
}

//espalier:rights contexts
//	list,watch namespaces: each namespace gets a Context named default
//	list,watch,create contexts: it creates missing ones, and recreates deleted ones

// SetupContexts adds the controller that ensures that every namespace has a Context named "default", so that installations need not name
// one. It creates the object and never changes it.
func SetupContexts(mgr ctrl.Manager, opts ContextsOptions) error {
	r := &contexts{client: mgr.GetClient(), only: opts.Namespaces, excluded: opts.ExcludedNamespaces, division: loop.DivisionOf(mgr)}
	err := ctrl.NewControllerManagedBy(mgr).
		Named(ContextsName).
		For(&corev1.Namespace{}, builder.OnlyMetadata, builder.WithPredicates(onlyCreated())).
		Watches(&landscaper.Context{}, handler.EnqueueRequestsFromMapFunc(namespaceOf), builder.WithPredicates(defaultContextDeleted())).
		WithOptions(controller.Options{MaxConcurrentReconciles: opts.Workers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", ContextsName, err)
	}
	return nil
}

// onlyCreated passes the creation of namespaces. Later changes cannot make a Context necessary.
func onlyCreated() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(event.UpdateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

func defaultContextDeleted() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
		DeleteFunc: func(e event.DeleteEvent) bool { return e.Object.GetName() == landscaper.DefaultContextName },
	}
}

func namespaceOf(_ context.Context, object client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: object.GetNamespace()}}}
}

type contexts struct {
	client   client.Client
	only     []string
	excluded []string
	division loop.Division
}

// Reconcile creates the default Context of one namespace if it is missing.
func (r *contexts) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	wanted, err := r.wantsContext(ctx, request.Name)
	if err != nil || !wanted {
		return reconcile.Result{}, err
	}
	object := &landscaper.Context{ObjectMeta: metav1.ObjectMeta{Namespace: request.Name, Name: landscaper.DefaultContextName}}
	if err := r.client.Create(ctx, object); err != nil {
		return reconcile.Result{}, unlessSettled(err)
	}
	log.FromContext(ctx).Info("Created the default Context")
	return reconcile.Result{}, nil
}

func (r *contexts) wantsContext(ctx context.Context, name string) (bool, error) {
	if slices.Contains(r.excluded, name) || len(r.only) > 0 && !slices.Contains(r.only, name) {
		return false, nil
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := r.client.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if !namespace.DeletionTimestamp.IsZero() || loop.IsForeign(r.division, namespace) {
		return false, nil
	}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: name, Name: landscaper.DefaultContextName}, &landscaper.Context{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}

// unlessSettled drops errors that mean that the Context exists or must not exist: the cache was outdated, or the namespace is being
// deleted.
func unlessSettled(err error) error {
	terminating := apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
	if apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || terminating {
		return nil
	}
	return fmt.Errorf("create the default Context: %w", err)
}
