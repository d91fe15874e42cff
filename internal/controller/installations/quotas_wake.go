// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/loop"
)

// jobIndex finds the root installations of a namespace whose job is unfinished.
const (
	jobIndex    = "job"
	jobUnderWay = "under way"
)

func jobsUnderWay(object client.Object) []string {
	if _, running := installation.RootJobOf(object.(*lsv1alpha1.Installation)); running {
		return []string{jobUnderWay}
	}
	return nil
}

// watch enqueues the jobs that may start: when another job has ended or released its place, when one starts to wait, and when the quotas of
// a namespace change. Of the waiting jobs, it enqueues only those that may start.
func (q *quotas) watch(b *builder.Builder) *builder.Builder {
	return b.
		Watches(&lsv1alpha1.Installation{}, loop.Urgent(q.nextAfter), builder.WithPredicates(q.moves())).
		Watches(&corev1.Namespace{}, loop.Urgent(q.nextIn), builder.OnlyMetadata, builder.WithPredicates(quotasChange())).
		WatchesRawSource(source.Channel(q.freed, loop.Urgent(q.nextOfFreed)))
}

// moves passes an event if a job has reached another stage.
func (q *quotas) moves() predicate.Predicate {
	stage := func(object client.Object) installation.RootJob {
		job, _ := installation.RootJobOf(object.(*lsv1alpha1.Installation))
		return job
	}
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc:  func(e event.UpdateEvent) bool { return stage(e.ObjectOld) != stage(e.ObjectNew) },
		DeleteFunc: func(e event.DeleteEvent) bool {
			q.forget(client.ObjectKeyFromObject(e.Object))
			return stage(e.Object).Stage != installation.JobPreparing
		},
	}
}

// quotasChange passes a Namespace if its quotas have changed.
func quotasChange() predicate.Predicate {
	of := func(object client.Object) map[string]string {
		own := maps.Clone(object.GetAnnotations())
		maps.DeleteFunc(own, func(name, _ string) bool { return !strings.HasPrefix(name, installation.QuotaAnnotations) })
		return own
	}
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc:  func(e event.UpdateEvent) bool { return !maps.Equal(of(e.ObjectOld), of(e.ObjectNew)) },
	}
}

func (q *quotas) nextAfter(ctx context.Context, object client.Object) []reconcile.Request {
	job, _ := installation.RootJobOf(object.(*lsv1alpha1.Installation))
	return q.next(ctx, object.GetNamespace(), job.Stage == installation.JobQueued)
}

func (q *quotas) nextIn(ctx context.Context, namespace client.Object) []reconcile.Request {
	return q.next(ctx, namespace.GetName(), true)
}

func (q *quotas) nextOfFreed(ctx context.Context, _ client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, namespace := range q.toLookAt() {
		requests = append(requests, q.next(ctx, namespace, true)...)
	}
	return requests
}

// next returns the waiting jobs of a namespace that may start. Without a quota there are none, unless one has just been lifted.
func (q *quotas) next(ctx context.Context, namespace string, lifted bool) []reconcile.Request {
	limits, _, err := q.limits(ctx, namespace)
	if err == nil && limits.ConcurrentJobs == 0 && !lifted {
		return nil
	}
	var jobs []installation.RootJob
	if err == nil {
		b := q.bookOf(namespace)
		b.mu.Lock()
		jobs, err = q.jobs(ctx, namespace, b)
		b.mu.Unlock()
	}
	if err != nil {
		log.FromContext(ctx).Error(err, "Cannot list the jobs that may start", "namespace", namespace)
		return nil
	}
	var requests []reconcile.Request
	for _, name := range installation.NextJobs(limits.ConcurrentJobs, jobs) {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}})
	}
	return requests
}
