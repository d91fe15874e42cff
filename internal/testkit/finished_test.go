// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
	"espalier.dev/internal/testkit"
)

func TestFinishedMeansTheNewestJob(t *testing.T) {
	server := testkit.Server(t)
	done := landscaper.RunStatus{JobID: "j1", JobIDFinished: "j1", JobIDRequested: "j1", Phase: landscaper.PhaseSucceeded}
	cases := map[string]struct {
		operation, granted string // annotations
		status             landscaper.RunStatus
		missing            string // empty if it is finished
	}{
		"it is":                {status: done},
		"nothing has begun":    {missing: "has not begun"},
		"another job is asked": {operation: "reconcile", status: done, missing: "has not begun"},
		"another is granted":   {granted: "j2", status: done, missing: "has not begun"},
		"the grant is adopted": {granted: "j1", status: done},
		"it runs": {
			status:  landscaper.RunStatus{JobID: "j2", JobIDFinished: "j1", Phase: landscaper.PhaseInit},
			missing: `job j2 is still running, in phase "Init"`,
		},
		"it has failed": {
			status:  landscaper.RunStatus{JobID: "j1", JobIDFinished: "j1", Phase: landscaper.PhaseFailed},
			missing: `in phase "Failed", not "Succeeded"`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			object := testkit.Installation(server.Namespace(t), "a").Build()
			testkit.Create(t, server, object)
			object.Annotations = map[string]string{}
			if c.operation != "" {
				object.Annotations[landscaper.OperationAnnotation] = c.operation
			}
			if c.granted != "" {
				object.Annotations[run.GrantAnnotation] = run.FormatGrant(c.granted, string(object.UID))
			}
			mustUpdate(t, server, object)
			object.Status.RunStatus = c.status
			if err := server.Client().Status().Update(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			if c.missing == "" {
				testkit.EventuallyFinished(t, server, object, landscaper.PhaseSucceeded)
				return
			}
			if err := testkit.FinishedIn(object, landscaper.PhaseSucceeded); err == nil || !strings.Contains(err.Error(), c.missing) {
				t.Errorf("says %v, want %q", err, c.missing)
			}
		})
	}
}

func TestFinishedKnowsAllKindsWithJobs(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	done := landscaper.RunStatus{JobID: "j", JobIDFinished: "j", Phase: landscaper.PhaseSucceeded}
	execution, item := testkit.Execution(namespace, "a").Build(), testkit.DeployItem(namespace, "a").Build()
	testkit.Create(t, server, execution, item)
	execution.Status.RunStatus, item.Status.RunStatus = done, done
	for _, object := range []client.Object{execution, item} {
		if err := server.Client().Status().Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	testkit.EventuallyFinished(t, server, execution, landscaper.PhaseSucceeded)
	testkit.EventuallyFinished(t, server, item, landscaper.PhaseSucceeded)
	target := testkit.Target(namespace, "a").Build()
	if err := testkit.FinishedIn(target, landscaper.PhaseSucceeded); err == nil || !strings.Contains(err.Error(), "has no jobs") {
		t.Errorf("of a Target: %v", err)
	}
}
