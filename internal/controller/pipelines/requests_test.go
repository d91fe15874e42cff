// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines_test

import (
	"testing"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// Tools of Flux request a reconcile by an annotation, and wait until the status has its value.
func TestARequestToLookAgainIsAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	builder, _ := w.twoEnvironments()
	w.Create(builder.Suspended().Build())
	p := w.until("p", "looked at", func(p *pipelines.Pipeline) bool { return len(p.Status.Environments) == 2 })
	for _, value := range []string{"2026-01-02T03:04:05Z", "again"} {
		w.annotate(p, "reconcile.fluxcd.io/requestedAt", value)
		p = w.until("p", "answered", func(p *pipelines.Pipeline) bool { return p.Status.LastHandledReconcileAt == value })
	}
}
