// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/loop"
)

// waker finds the installations that an event about another object concerns.
type waker struct {
	reader   client.Reader
	losses   *losses
	division loop.Division
}

// matters passes an event about an installation or execution that may matter to others: it has finished, vanished, received a request, or
// lost its owner.
// Its internal progress matters to no other object.
func matters() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := runStatus(e.ObjectOld), runStatus(e.ObjectNew)
			return before == nil || after == nil ||
				before.IsFinished() != after.IsFinished() || after.IsFinished() && before.JobID != after.JobID ||
				continuousNews(
					e.ObjectOld,
					e.ObjectNew,
				) || !equality.Semantic.DeepEqual(e.ObjectOld.GetOwnerReferences(), e.ObjectNew.GetOwnerReferences()) ||
				e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() ||
				e.ObjectOld.GetAnnotations()[lsv1alpha1.OperationAnnotation] != e.ObjectNew.GetAnnotations()[lsv1alpha1.OperationAnnotation] ||
				e.ObjectOld.GetAnnotations()[lsv1alpha1.SuspendAnnotation] != e.ObjectNew.GetAnnotations()[lsv1alpha1.SuspendAnnotation]
		},
	}
}

// continuousNews reports whether an object has reached another state of the continuous flow, in which generations show what has been done.
func continuousNews(before, after client.Object) bool {
	old, now := runStatus(before), runStatus(after)
	return old.IsFinished() && now.IsFinished() &&
		(old.Phase != now.Phase || old.ObservedGeneration != now.ObservedGeneration || before.GetGeneration() != after.GetGeneration() ||
			mark(before) != mark(after) || standsStill(before) != standsStill(after))
}

// standsStill reports whether nothing below an installation continues by itself.
func standsStill(object client.Object) bool {
	inst, ok := object.(*lsv1alpha1.Installation)
	return ok && installation.StandsStill(inst)
}

// mark is the version of an installation's exports.
func mark(object client.Object) string {
	if inst, ok := object.(*lsv1alpha1.Installation); ok {
		return inst.Status.ConfigGeneration
	}
	return ""
}

func runStatus(object client.Object) *lsv1alpha1.RunStatus {
	switch o := object.(type) {
	case *lsv1alpha1.Installation:
		return &o.Status.RunStatus
	case *lsv1alpha1.Execution:
		return &o.Status.RunStatus
	default:
		return nil
	}
}

// appears passes an object that others may wait for; vanishes passes one that others may miss, or that its writer may no longer find.
func appears() predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(event.DeleteEvent) bool { return false }}
}

func vanishes() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(e event.UpdateEvent) bool { return mars(e.ObjectOld, e.ObjectNew) },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// parentOfExecution returns the installation that owns an execution: they share a name, which also identifies the owner if another client
// has removed it.
func parentOfExecution(_ context.Context, object client.Object) []reconcile.Request {
	for _, owner := range object.GetOwnerReferences() {
		if owner.Kind == installationKind {
			return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: object.GetNamespace(), Name: owner.Name}}}
		}
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(object)}}
}

// relatives returns the parent of an installation, and the siblings that may wait for it: successors for its exports, predecessors for its
// end.
func (w waker) relatives(ctx context.Context, object client.Object) []reconcile.Request {
	inst, ok := object.(*lsv1alpha1.Installation)
	if !ok {
		return nil
	}
	var requests []reconcile.Request
	if parent := w.parentOf(ctx, inst); parent != "" {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: inst.Namespace, Name: parent}})
	}
	requests = append(requests, w.waiting(ctx, inst, importsIndex, installation.ExportsOf(inst))...)
	return append(requests, w.waiting(ctx, inst, exportsIndex, installation.ImportsOf(inst))...)
}

// parentOf returns the name of the parent of an installation, even if only the status of the parent still records it.
func (w waker) parentOf(ctx context.Context, inst *lsv1alpha1.Installation) string {
	parent, err := recordedParent(ctx, w.reader, inst)
	if err != nil {
		log.FromContext(ctx).Error(err, "Cannot find the parent of an installation", "installation", inst.Name)
	}
	return cmp.Or(installation.ParentOf(inst), parent)
}

// waiting returns the siblings that an index relates to an installation, if they may have something to do.
func (w waker) waiting(ctx context.Context, inst *lsv1alpha1.Installation, index string, ids []dataflow.ObjectID) []reconcile.Request {
	related, err := relatedBy(ctx, w.reader, inst, index, ids)
	if err != nil {
		log.FromContext(ctx).Error(err, "Cannot find the siblings of an installation", "installation", inst.Name)
		return nil
	}
	var requests []reconcile.Request
	for _, sibling := range related {
		if !sibling.Status.IsFinished() || !sibling.DeletionTimestamp.IsZero() || installation.FlowOf(sibling) == lsv1alpha1.FlowContinuous {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(sibling)})
		}
	}
	return requests
}

// importersOfSecret returns the installations that import a Secret, or a Target whose content is in it.
func (w waker) importersOfSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	requests := w.importers(kindSecret)(ctx, secret)
	var targets lsv1alpha1.TargetList
	err := w.reader.List(
		ctx,
		&targets,
		client.InNamespace(secret.GetNamespace()),
		client.MatchingFields{secretIndex: secret.GetName()},
		client.UnsafeDisableDeepCopy,
	)
	if err != nil {
		log.FromContext(ctx).Error(err, "Cannot find the Targets of a Secret", "secret", secret.GetName())
		return requests
	}
	for i := range targets.Items {
		requests = append(requests, w.importers(kindTarget)(ctx, &targets.Items[i])...)
	}
	return requests
}

// givers returns the installations that the loss of an object concerns: those that import it, and the one that has written it and may have
// to rewrite it. If the object is only marred, its earlier form still names its writer.
func (w waker) givers(kind dataflow.ObjectKind) handler.MapFunc {
	importers := w.importers(kind)
	return func(ctx context.Context, object client.Object) []reconcile.Request {
		requests := importers(ctx, object)
		source, owned := dataflow.InstallationOf(object.GetLabels()[lsv1alpha1.DataObjectSourceLabel])
		var inst lsv1alpha1.Installation
		if !owned || w.reader.Get(ctx, client.ObjectKey{Namespace: object.GetNamespace(), Name: source}, &inst) != nil {
			return requests
		}
		current := isCurrent(object, &inst)
		if current && inst.DeletionTimestamp.IsZero() && !loop.IsForeign(w.division, &inst) {
			lost := loss{ObjectID: dataflow.ObjectID{Kind: kind, Name: object.GetName()}, uid: object.GetUID()}
			w.losses.note(client.ObjectKeyFromObject(&inst), lost)
		}
		if (current || installation.FlowOf(&inst) == lsv1alpha1.FlowContinuous) && inst.DeletionTimestamp.IsZero() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&inst)})
		}
		return requests
	}
}

// importers returns the installations that import an object and wait for their imports or are in the continuous flow.
func (w waker) importers(kind dataflow.ObjectKind) handler.MapFunc {
	return func(ctx context.Context, object client.Object) []reconcile.Request {
		key := keyOf(dataflow.ObjectID{Kind: kind, Name: object.GetName()})
		var list lsv1alpha1.InstallationList
		err := w.reader.List(
			ctx,
			&list,
			client.InNamespace(object.GetNamespace()),
			client.MatchingFields{importsIndex: key},
			client.UnsafeDisableDeepCopy,
		)
		if err != nil {
			log.FromContext(ctx).Error(err, "Cannot find the importers of an object", "object", key)
			return nil
		}
		var requests []reconcile.Request
		for i := range list.Items {
			inst := &list.Items[i]
			waits := !inst.Status.IsFinished() && inst.Status.Phase == lsv1alpha1.PhaseInit
			if waits || installation.FlowOf(inst) == lsv1alpha1.FlowContinuous && inst.DeletionTimestamp.IsZero() {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(inst)})
			}
		}
		return requests
	}
}
