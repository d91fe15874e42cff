// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package executions

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/controller/ending"
	"espalier.dev/internal/execution"
)

// kind implements the loop's kind for executions.
type kind struct {
	// cluster reads from the cache, live from the API server.
	cluster client.Client
	live    client.Reader
	// remembers means that the cache contains everything that this process, or an earlier leader, has written.
	remembers bool
	// namespaces reports which namespaces are being deleted.
	namespaces ending.Namespaces
}

func (k *kind) Phase(e *lsv1alpha1.Execution) lsv1alpha1.Phase { return e.Status.Phase }

func (k *kind) Status(e *lsv1alpha1.Execution) any { return &e.Status }

// Decide delegates to the pure package.
func (k *kind) Decide(o execution.Observed) execution.Decision { return execution.Decide(o) }

// Settle delegates to the pure package.
func (k *kind) Settle(e *lsv1alpha1.Execution, o execution.Observed, d execution.Decision, err error) execution.Observed {
	return execution.Settle(e, o, d, err)
}
