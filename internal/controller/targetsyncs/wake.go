// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package targetsyncs

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/target"
)

// waker finds the TargetSyncs that an event matters to.
type waker struct{ reader client.Reader }

func (w waker) inNamespace(ctx context.Context, namespace string, which func(*lsv1alpha1.TargetSync) bool) []reconcile.Request {
	var list lsv1alpha1.TargetSyncList
	if err := w.reader.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Cannot list the TargetSyncs of a namespace", "namespace", namespace)
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if which(&list.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// neighbours are the other TargetSyncs of a namespace: they do something only while they are alone.
func (w waker) neighbours(ctx context.Context, object client.Object) []reconcile.Request {
	return w.inNamespace(ctx, object.GetNamespace(), func(ts *lsv1alpha1.TargetSync) bool { return ts.Name != object.GetName() })
}

// makers are those of what is ours.
func (w waker) makers(ctx context.Context, object client.Object) []reconcile.Request {
	return w.inNamespace(ctx, object.GetNamespace(), func(*lsv1alpha1.TargetSync) bool { return true })
}

// users are those whose source a Secret leads to.
func (w waker) users(ctx context.Context, object client.Object) []reconcile.Request {
	return w.inNamespace(ctx, object.GetNamespace(), func(ts *lsv1alpha1.TargetSync) bool {
		return ts.Spec.SecretRef.Name == object.GetName()
	})
}

// comesOrGoes lets a TargetSync through that others have to reckon with, or no longer.
func comesOrGoes() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
}

// changes lets something that is ours through when it is changed or deleted. That it appears is known to who made it, and that somebody's
// own object goes may let a pair be written that it was in the way of.
func changes() predicate.Predicate {
	isOurs := func(object client.Object) bool {
		return object.GetLabels()[lsv1alpha1.TargetSyncLabel] == lsv1alpha1.TargetSyncOK
	}
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return isOurs(e.ObjectOld) != isOurs(e.ObjectNew) || isOurs(e.ObjectNew)
		},
		DeleteFunc: func(event.DeleteEvent) bool { return true },
	}
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// calm is how long news of a source wait for more of the kind: reading it costs the same for one change and for many.
const calm = time.Second

// wakes says which TargetSyncs to look at because of their sources. In a replica that does not lead nobody looks, and whoever takes over
// looks at all of them.
type wakes struct {
	mu    sync.Mutex
	queue queue
}

func (w *wakes) wake(ts types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queue != nil {
		w.queue.AddAfter(reconcile.Request{NamespacedName: ts}, calm)
	}
}

func (w *wakes) source() source.Source {
	return source.Func(func(_ context.Context, q queue) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.queue = q
		return nil
	})
}

// sources are the watches of what TargetSyncs are made from, at most one for each.
type sources struct {
	wake func(types.NamespacedName)

	mu     sync.Mutex
	active map[types.NamespacedName]watched
}

type watched struct {
	what watchedKind
	stop func()
}

type watchedKind struct {
	cluster   *target.Cluster
	kind      schema.GroupVersionKind
	namespace string
}

func newSources(wake func(types.NamespacedName)) *sources {
	return &sources{wake: wake, active: map[types.NamespacedName]watched{}}
}

// follow has a TargetSync looked at when something of a kind changes. What it followed before it follows no longer.
func (s *sources) follow(ts types.NamespacedName, what watchedKind) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if current, ok := s.active[ts]; ok {
		if current.what == what {
			return nil
		}
		current.stop()
		delete(s.active, ts)
	}
	stop, err := what.cluster.Watch(what.kind, client.ObjectKey{Namespace: what.namespace}, func() { s.wake(ts) })
	if err != nil {
		return err
	}
	s.active[ts] = watched{what: what, stop: stop}
	return nil
}

// leave follows nothing any more.
func (s *sources) leave(ts types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if current, ok := s.active[ts]; ok {
		current.stop()
		delete(s.active, ts)
	}
}

// forgetting lets go of TargetSyncs that do not exist any more.
type forgetting struct {
	kind *kind
	loop *syncLoop
}

// Reconcile makes one pass over one TargetSync.
func (f forgetting) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	result, err := f.loop.Reconcile(ctx, request)
	if apierrors.IsNotFound(f.loop.Reader.Get(ctx, request.NamespacedName, &lsv1alpha1.TargetSync{})) {
		f.kind.sources.leave(request.NamespacedName)
	}
	return result, err
}
