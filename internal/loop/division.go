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

// Division is how processes share the work: each object is worked on by one of them.
type Division interface {
	// Foreign reports whether the cache shows that an object is worked on by another process. If the cache cannot tell, it is not foreign.
	Foreign(object client.Object) bool
	// Shown returns the object that the cache shows under a key, nil if there is none. It is not to be changed.
	Shown(kind client.Object, key types.NamespacedName) client.Object
	// Owns reports whether this process works on an object. If the cache cannot tell, the API server is asked.
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

// IsForeign reports whether an object is known to be worked on by another process.
func IsForeign(d Division, object client.Object) bool { return d != nil && d.Foreign(object) }

// OptionsFor are Options, with a queue that takes nothing that another process works on. What it takes may still be foreign, so whoever
// changes something asks again.
func OptionsFor(mgr ctrl.Manager, kind client.Object, workers int) controller.Options {
	options, division := Options(workers), DivisionOf(mgr)
	if division == nil {
		return options
	}
	mine := func(request reconcile.Request) bool {
		object := division.Shown(kind, request.NamespacedName)
		return object == nil || !division.Foreign(object) // one that is gone is to be forgotten
	}
	return withFilter(options, max(workers, 1), mine)
}

// own reports whether an object is this process's to work on.
func (l *Loop[T, O, P, E]) own(ctx context.Context, object T) (bool, error) {
	if l.division == nil {
		return true, nil
	}
	return l.division.Owns(ctx, object)
}
