// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A list of a missing namespace is empty, so the namespaces of missing applications are read. Without the right to read namespaces, only
// the application is reported as missing.

// replace hands a list over to the feed, with the missing namespaces.
func (f *follower) replace(ctx context.Context, everything map[types.NamespacedName]record) {
	var candidates map[string]bool
	f.update(func(time.Time) []types.NamespacedName {
		candidates = f.feed.missing(everything)
		return nil
	})
	absent := f.absentOf(ctx, candidates)
	f.session.synced()
	f.update(func(now time.Time) []types.NamespacedName { return f.feed.replace(everything, absent, now) })
}

// checkNamespaces updates which namespaces of missing applications do not exist.
func (f *follower) checkNamespaces(ctx context.Context) {
	var candidates map[string]bool
	f.update(func(time.Time) []types.NamespacedName {
		candidates = f.feed.missing(f.feed.records)
		return nil
	})
	absent := f.absentOf(ctx, candidates)
	f.update(func(time.Time) []types.NamespacedName {
		if maps.Equal(f.feed.absent, absent) {
			return nil
		}
		before := f.feed.absent
		f.feed.absent = absent
		var changed []types.NamespacedName
		for key := range f.feed.wanted {
			if before[key.Namespace] != absent[key.Namespace] {
				changed = append(changed, key)
			}
		}
		return changed
	})
}

// absentOf returns the namespaces that certainly do not exist.
func (f *follower) absentOf(ctx context.Context, namespaces map[string]bool) map[string]bool {
	absent := map[string]bool{}
	for name := range namespaces {
		if f.isAbsent(ctx, name) {
			absent[name] = true
		}
	}
	return absent
}

//espalier:rights pipelines
//	get namespaces: to distinguish a missing namespace from a missing application

func (f *follower) isAbsent(ctx context.Context, name string) bool {
	ctx, cancel := context.WithTimeout(ctx, f.timing.answer)
	defer cancel()
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return apierrors.IsNotFound(f.session.client.Get(ctx, client.ObjectKey{Name: name}, namespace))
}
