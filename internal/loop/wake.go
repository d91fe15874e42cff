// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"hash/maphash"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Awake filters the events of the kind itself: all but those that show nothing more than this loop's own status
// write. Compared is the content and not the version, because the event may arrive before the answer to the write.
func (l *Loop[T, O, P, E]) Awake() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			object, ok := e.ObjectNew.(T)
			return !ok || metadataChanged(e.ObjectOld, e.ObjectNew) ||
				!l.ledger.ownStatus(client.ObjectKeyFromObject(object), mustJSON(l.Kind.Status(object)))
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			l.ledger.forget(client.ObjectKeyFromObject(e.Object))
			return true
		},
	}
}

func metadataChanged(before, after client.Object) bool {
	return before.GetUID() != after.GetUID() ||
		before.GetGeneration() != after.GetGeneration() ||
		!before.GetDeletionTimestamp().Equal(after.GetDeletionTimestamp()) ||
		!equality.Semantic.DeepEqual(before.GetAnnotations(), after.GetAnnotations()) ||
		!equality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels()) ||
		!equality.Semantic.DeepEqual(before.GetFinalizers(), after.GetFinalizers()) ||
		!equality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences())
}

// ledger remembers the loop's own last write to each object. The zero value is ready.
type ledger struct {
	mu      sync.Mutex
	entries map[types.NamespacedName]entry
}

type entry struct {
	uid     types.UID
	version string
	// status is the digest of the status written last; zero if the event that shows it shall wake.
	status uint64
}

var seed = maphash.MakeSeed()

// digest is never zero, so that zero can mean "none".
func digest(status []byte) uint64 { return maphash.Bytes(seed, status) | 1 }

// behind reports whether object is older than the last write.
func (l *ledger) behind(object client.Object) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.entries[client.ObjectKeyFromObject(object)]
	if !known || e.version == "" || e.uid != object.GetUID() {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), e.version)
	return err == nil && order < 0
}

// writing announces a status write before its answer is known.
func (l *ledger) writing(key types.NamespacedName, status []byte) {
	l.update(key, func(e *entry) { e.status = digest(status) })
}

// written records that a write was answered with the version that object has now.
func (l *ledger) written(object client.Object) {
	l.update(client.ObjectKeyFromObject(object), func(e *entry) {
		e.uid, e.version = object.GetUID(), object.GetResourceVersion()
	})
}

// wakeNext lets the event that shows the last write through.
func (l *ledger) wakeNext(key types.NamespacedName) {
	l.update(key, func(e *entry) { e.status = 0 })
}

func (l *ledger) update(key types.NamespacedName, change func(*entry)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.entries == nil {
		l.entries = map[types.NamespacedName]entry{}
	}
	e := l.entries[key]
	change(&e)
	l.entries[key] = e
}

func (l *ledger) ownStatus(key types.NamespacedName, status []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entries[key].status == digest(status)
}

func (l *ledger) forget(key types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.entries, key)
}
