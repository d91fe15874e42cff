// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
	"espalier.dev/internal/testkit"
)

// Controller performs the writes of a controller of installations on demand.
type Controller struct {
	Server *testkit.APIServer
}

// Grant waits for a request and answers it with a job.
func (c Controller) Grant(t testing.TB, root *lsv1alpha1.Installation, job string) {
	t.Helper()
	asked := testkit.Eventually(t, c.Server, root, testkit.Is("asked for a job", func(i *lsv1alpha1.Installation) bool {
		return i.Annotations[lsv1alpha1.OperationAnnotation] == string(lsv1alpha1.OperationReconcile)
	}))
	before := asked.DeepCopy()
	delete(asked.Annotations, lsv1alpha1.OperationAnnotation)
	asked.Annotations[run.GrantAnnotation] = run.FormatGrant(job, string(asked.UID))
	if err := c.Server.Client().Patch(t.Context(), asked, client.MergeFrom(before)); err != nil {
		t.Fatalf("grant a job: %v", err)
	}
}

// Adopt starts the granted job.
func (c Controller) Adopt(t testing.TB, root *lsv1alpha1.Installation, job string) {
	t.Helper()
	c.Write(t, root, func(s *lsv1alpha1.RunStatus) { run.Adopt(s, job, lsv1alpha1.PhaseInit, Now()) })
}

// Settle brings an installation into a phase, and finishes its job if the phase is final.
func (c Controller) Settle(t testing.TB, root *lsv1alpha1.Installation, next lsv1alpha1.Phase, reason, message string) {
	t.Helper()
	c.Write(t, root, func(s *lsv1alpha1.RunStatus) {
		outcome := run.Outcome{Next: next, Now: Now()}
		outcome.Why.Code, outcome.Why.Message = reason, message
		run.Settle(s, outcome)
	})
}

// Write changes the status of an installation.
func (c Controller) Write(t testing.TB, root *lsv1alpha1.Installation, change func(*lsv1alpha1.RunStatus)) {
	t.Helper()
	current := &lsv1alpha1.Installation{}
	if err := c.Server.Client().Get(t.Context(), client.ObjectKeyFromObject(root), current); err != nil {
		t.Fatal(err)
	}
	change(&current.Status.RunStatus)
	if err := c.Server.Client().Status().Update(t.Context(), current); err != nil {
		t.Fatalf("write the status: %v", err)
	}
}
