// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

// operated runs all controllers over a connection with faults. A healthy process replaces one that crashes, as a Deployment would do it.
func (w *world) operated(plan faults.Plan) *faults.Transport {
	w.Helper()
	transport := faults.New(plan)
	mgr, err := manager.New(transport.Config(w.server.Config()), w.Options, logr.Discard())
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.Context())
	ended, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_ = mgr.Start(ctx) // an error is what a crash looks like from inside
	}()
	go func() {
		defer close(over)
		select {
		case <-transport.Crashed():
			cancel()
			<-ended
			w.run(w.server.Config())
		case <-ended:
		}
	}()
	w.Cleanup(func() { cancel(); <-over; <-ended })
	return transport
}

// askTwice runs two jobs, one requested at creation and one later, and checks that each request has started exactly one.
func askTwice(t *testing.T, plan faults.Plan) faults.Log {
	w := idleWorld(t)
	transport := w.operated(plan)
	recorder := testkit.Record(t, w.server, w.namespace, testkit.Kinds(&lsv1alpha1.Installation{}))
	w.create(w.installation("app", empty).Reconcile().Build())
	first := w.finished("app", lsv1alpha1.PhaseSucceeded)
	w.request("app")
	second := w.eventually("app", "finished with another job", func(i *lsv1alpha1.Installation) bool {
		return i.Status.IsFinished() && i.Status.JobID != first.Status.JobID && i.Annotations[lsv1alpha1.OperationAnnotation] == ""
	})
	recorder.Quiet(t, time.Second)
	if jobs := recorder.Of(second).Transitions("status.jobID"); !slices.Equal(jobs, []string{"", first.Status.JobID, second.Status.JobID}) {
		t.Errorf("jobs %q, want one for each request", jobs)
	}
	if second.Status.Phase != lsv1alpha1.PhaseSucceeded {
		t.Errorf("the second job has ended in phase %s", second.Status.Phase)
	}
	struck := transport.Log().Where(func(e faults.Entry) bool { return e.Fault != "" })
	if len(struck) != len(plan.Requests) {
		t.Errorf("%d faults struck, want %s", len(struck), plan)
	}
	return transport.Log()
}

// A crash before a write equals one after the previous write: there is one write at a time.
func TestJOB11_ACrashNeitherLosesARequestNorRunsItTwice(t *testing.T) {
	t.Parallel()
	var writes faults.Log
	t.Run("reference", func(t *testing.T) {
		t.Run("on a good day", func(t *testing.T) { writes = askTwice(t, faults.Plan{}) })
	})
	own := writes.Where(func(e faults.Entry) bool { return e.Resource == "installations" })
	plans := faults.EachNamedWrite(own, faults.CrashAfter, faults.LoseAnswer)
	faults.Sweep(t, plans, func(t *testing.T, plan faults.Plan) { askTwice(t, plan) })
}
