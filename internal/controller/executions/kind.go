// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package executions

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/controller/ending"
	"espalier.dev/internal/execution"
)

// kind is what the loop needs to know about executions.
type kind struct {
	// cluster reads from the cache, live from the API server.
	cluster client.Client
	live    client.Reader
	// remembers says that the cache lacks nothing that this process has written, or one that led before it.
	remembers bool
	// namespaces tells which are being deleted.
	namespaces ending.Namespaces
}

func (k *kind) Phase(e *lsv1alpha1.Execution) lsv1alpha1.Phase { return e.Status.Phase }

func (k *kind) Status(e *lsv1alpha1.Execution) any { return &e.Status }

// Decide asks the pure package.
func (k *kind) Decide(o execution.Observed) execution.Decision { return execution.Decide(o) }

// Settle asks the pure package.
func (k *kind) Settle(e *lsv1alpha1.Execution, o execution.Observed, d execution.Decision, err error) execution.Observed {
	return execution.Settle(e, o, d, err)
}
