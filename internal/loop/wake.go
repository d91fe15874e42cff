// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"hash/maphash"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Awake filters the events of the kind itself: it passes all except those that only show this loop's own status write. It compares the
// content rather than the version, because the event may arrive before the response to the write.
func (l *Loop[T, O, P, E]) Awake() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			object, ok := e.ObjectNew.(T)
			return !ok || metadataChanged(e.ObjectOld, e.ObjectNew) ||
				!l.statuses.own(client.ObjectKeyFromObject(object), func() []byte { return mustJSON(l.Kind.Status(object)) })
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			l.statuses.forget(client.ObjectKeyFromObject(e.Object))
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

// statuses records a digest of the status that the loop last wrote to each object. The zero value is ready.
type statuses struct {
	mu      sync.Mutex
	written map[types.NamespacedName]uint64
}

var seed = maphash.MakeSeed()

// digest is never zero, so that zero can mean "none".
func digest(status []byte) uint64 { return maphash.Bytes(seed, status) | 1 }

// writing announces a write before its response is known.
func (s *statuses) writing(key types.NamespacedName, status []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.written == nil {
		s.written = map[types.NamespacedName]uint64{}
	}
	s.written[key] = digest(status)
}

// own reports whether a status is the one that was written last. It calls status only if one was written.
func (s *statuses) own(key types.NamespacedName, status func() []byte) bool {
	s.mu.Lock()
	written := s.written[key]
	s.mu.Unlock()
	return written != 0 && written == digest(status())
}

func (s *statuses) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.written, key)
}
