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

// waker finds the TargetSyncs that an event concerns.
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

// neighbours returns the other TargetSyncs of a namespace: each acts only while it is alone.
func (w waker) neighbours(ctx context.Context, object client.Object) []reconcile.Request {
	return w.inNamespace(ctx, object.GetNamespace(), func(ts *lsv1alpha1.TargetSync) bool { return ts.Name != object.GetName() })
}

// makers returns the TargetSyncs that may have created an object: all of its namespace.
func (w waker) makers(ctx context.Context, object client.Object) []reconcile.Request {
	return w.inNamespace(ctx, object.GetNamespace(), func(*lsv1alpha1.TargetSync) bool { return true })
}

// users returns the TargetSyncs whose source a Secret gives access to.
func (w waker) users(ctx context.Context, object client.Object) []reconcile.Request {
	return w.inNamespace(ctx, object.GetNamespace(), func(ts *lsv1alpha1.TargetSync) bool {
		return ts.Spec.SecretRef.Name == object.GetName()
	})
}

// comesOrGoes passes a TargetSync when it appears or disappears, because others depend on how many there are.
func comesOrGoes() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
}

// changes passes an object of ours that is changed or deleted. Its creator knows of its creation. It also passes the deletion of a user's
// object, which may have blocked a pair.
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

// calm is how long an event of a source waits for further ones: reading it costs the same for one change and for many.
const calm = time.Second

// wakes enqueues TargetSyncs because of their sources. A replica that does not lead ignores wakes, and a new leader processes all
// TargetSyncs.
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

// sources are the watches of the sources of TargetSyncs, at most one for each.
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

// follow enqueues a TargetSync when an object of a kind changes. It replaces what the TargetSync followed before.
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

// leave ends the watch of a TargetSync.
func (s *sources) leave(ts types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if current, ok := s.active[ts]; ok {
		current.stop()
		delete(s.active, ts)
	}
}

// forgetting drops the watches of TargetSyncs that no longer exist.
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
