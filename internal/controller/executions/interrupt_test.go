// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package executions_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

func (s *stage) interrupt(t *testing.T, e *lsv1alpha1.Execution) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, lsv1alpha1.OperationAnnotation, lsv1alpha1.OperationInterrupt)
	if err := s.client.Patch(t.Context(), e, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// interrupted waits for the end of an interrupted job and checks that all items finished with it.
func (s *stage) interrupted(t *testing.T, e *lsv1alpha1.Execution, done ...string) *lsv1alpha1.Execution {
	t.Helper()
	e = s.finished(t, e, lsv1alpha1.PhaseFailed)
	if e.Status.LastError.Reason != lsv1alpha1.ReasonInterrupted || e.Annotations[lsv1alpha1.OperationAnnotation] != "" {
		t.Errorf("last error %+v, annotations %v", e.Status.LastError, e.Annotations)
	}
	for name, item := range s.items(t) {
		want, reason := lsv1alpha1.PhaseFailed, lsv1alpha1.ReasonInterrupted
		for _, other := range done {
			if name == other {
				want, reason = lsv1alpha1.PhaseSucceeded, ""
			}
		}
		if item.Status.Phase != want || item.Status.JobIDFinished != e.Status.JobID || item.Status.JobID != e.Status.JobID {
			t.Errorf(
				"%s is %s, job %s, finished %s, want %s and %s",
				name,
				item.Status.Phase,
				item.Status.JobID,
				item.Status.JobIDFinished,
				want,
				e.Status.JobID,
			)
		}
		if reason != "" && (item.Status.LastError == nil || item.Status.LastError.Reason != reason ||
			!strings.Contains(item.Status.LastError.Message, "landscaper.gardener.cloud/operation=interrupt")) {
			t.Errorf("the last error of %s is %+v", name, item.Status.LastError)
		}
	}
	return e
}

func TestJOB50_JOB51_AnInterruptEndsWhatHasNotFinished(t *testing.T) {
	s := newStage(t)
	recorder := s.record(t)
	defer examine(t, recorder)
	s.script("b", script{hold: true})
	s.start(t, s.Config())
	e := s.launch(t, diamond(s.ns).Build())
	working := s.started(t, e, "b")
	testkit.Eventually(
		t,
		s.APIServer,
		s.item(e, "c"),
		testkit.Is("done", func(i *lsv1alpha1.DeployItem) bool { return i.Status.Phase == lsv1alpha1.PhaseSucceeded }),
	)

	s.interrupt(t, e)
	e = s.interrupted(t, e, "a", "c")
	if !strings.Contains(e.Status.LastError.Message, "unfinished deploy items: b, d") {
		t.Errorf("it says %s", e.Status.LastError.Message)
	}
	if err := s.end(t.Context(), working, lsv1alpha1.PhaseSucceeded, ""); !apierrors.IsConflict(err) {
		t.Errorf("the deployer still had the last word: %v", err)
	}

	s.script("b", script{})
	e = s.finished(t, s.run(t, e), lsv1alpha1.PhaseSucceeded)
	s.interrupt(t, e)
	testkit.Eventually(
		t,
		s.APIServer,
		e,
		testkit.Is("rid of the annotation", func(e *lsv1alpha1.Execution) bool { return e.Annotations[lsv1alpha1.OperationAnnotation] == "" }),
	)
	s.finished(t, s.run(t, e), lsv1alpha1.PhaseSucceeded)
}

// The interrupt is stored before the controller sends the first, a middle or the last of the creations.
func TestJOB52_AnInterruptDuringTheCreationReachesAllItems(t *testing.T) {
	for _, created := range []int{1, 20, 39} {
		t.Run(fmt.Sprintf("after %d of 40", created), func(t *testing.T) {
			s := newStage(t)
			defer examine(t, s.record(t))
			b := testkit.Execution(s.ns, "app")
			for i := range 40 {
				name := fmt.Sprintf("item-%02d", i)
				s.script(name, script{hold: true})
				b.MockItem(name, anything)
			}
			e := b.Build()
			transport, named := faults.New(faults.Plan{}), e.DeepCopy()
			var came atomic.Bool
			transport.BeforeNth(created+1, "create/deployitems", func() {
				s.interrupt(t, named)
				came.Store(true)
			})
			s.start(t, transport.Config(s.Config()))
			s.launch(t, e)
			s.interrupted(t, e)
			if !came.Load() {
				t.Error("the interrupt did not come before the creation of an item")
			}
		})
	}
}

// The items of an interrupted deletion stay, and another job deletes them.
func TestJOB50_AnInterruptedDeletionCanBeRepeated(t *testing.T) {
	s := newStage(t)
	defer examine(t, s.record(t))
	s.start(t, s.Config())
	e := s.finished(t, s.launch(t, diamond(s.ns).Build()), lsv1alpha1.PhaseSucceeded)
	s.script("b", script{hold: true})
	s.remove(t, e)
	s.started(t, e, "b")
	s.interrupt(t, e)
	e = s.finished(t, e, lsv1alpha1.PhaseDeleteFailed)
	if b := s.items(t)["b"]; b.Status.Phase != lsv1alpha1.PhaseDeleteFailed || b.Status.JobIDFinished != e.Status.JobID {
		t.Errorf("b is %s, finished %s", b.Status.Phase, b.Status.JobIDFinished)
	}
	s.script("b", script{})
	s.run(t, e)
	testkit.EventuallyGone(t, s.APIServer, e)
}
