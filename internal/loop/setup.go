// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"

	"espalier.dev/internal/tenancy"
)

// Controller returns the builder of a controller that runs this loop with the given number of workers per namespace. The kind adds
// watches for everything else that can change its facts, and completes it with the loop as the reconciler.
func (l *Loop[T, O, P, E]) Controller(mgr ctrl.Manager, workers int) *builder.Builder {
	l.tenancy = tenancy.Of(mgr)
	l.division = DivisionOf(mgr)
	return ctrl.NewControllerManagedBy(mgr).
		Named(l.Name).
		For(l.New(), builder.WithPredicates(l.Awake())).
		WithOptions(OptionsFor(mgr, l.New(), workers))
}
