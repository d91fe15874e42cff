// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Division is how processes share the work: one of them works on each object.
type Division interface {
	// Foreign reports whether, according to the cache, another process works on an object. If the cache does not show that, it is not foreign.
	Foreign(object client.Object) bool
	// Shown returns the object that the cache shows under a key, nil if there is none. Callers must not change it.
	Shown(kind client.Object, key types.NamespacedName) client.Object
	// Owns reports whether this process works on an object. If the cache does not show that, it reads from the API server.
	Owns(ctx context.Context, object client.Object) (bool, error)
}

// Divided is a manager of a process that shares the work with others.
type Divided interface {
	Division() Division
}

// DivisionOf returns how the process of a manager shares the work, nil if it does all of it.
func DivisionOf(mgr ctrl.Manager) Division {
	if divided, ok := mgr.(Divided); ok {
		return divided.Division()
	}
	return nil
}

// IsForeign reports whether another process is known to work on an object.
func IsForeign(d Division, object client.Object) bool { return d != nil && d.Foreign(object) }

// OptionsFor returns Options with a queue that rejects objects of other processes. An accepted object may still be foreign, so controllers
// check again before they change anything.
func OptionsFor(mgr ctrl.Manager, kind client.Object, workers int) controller.Options {
	options, division := Options(workers), DivisionOf(mgr)
	if division == nil {
		return options
	}
	mine := func(request reconcile.Request) bool {
		object := division.Shown(kind, request.NamespacedName)
		return object == nil || !division.Foreign(object) // a deleted object must be forgotten
	}
	return withFilter(options, max(workers, 1), mine)
}

// own reports whether this process works on an object.
func (l *Loop[T, O, P, E]) own(ctx context.Context, object T) (bool, error) {
	if l.division == nil {
		return true, nil
	}
	return l.division.Owns(ctx, object)
}
