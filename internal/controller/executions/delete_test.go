// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package executions_test

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/controller/deployitems"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

// remove deletes an execution and starts the job that carries it out.
func (s *stage) remove(t *testing.T, e *lsv1alpha1.Execution) {
	t.Helper()
	if err := s.client.Delete(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	s.run(t, e)
}

func TestJOB43_JOB45_JOB72_DeletionGoesInReverseOrder(t *testing.T) {
	s := newStage(t)
	recorder := s.record(t)
	defer examine(t, recorder)
	s.script("a", script{export: "x: 1"})
	transport := faults.New(faults.Plan{})
	s.start(t, transport.Config(s.Config()))
	e := s.finished(t, s.launch(t, diamond(s.ns).Build()), lsv1alpha1.PhaseSucceeded)
	s.script("b", script{hold: true})
	s.script("c", script{hold: true})

	s.remove(t, e)
	for _, name := range []string{"b", "c"} {
		if item := s.started(t, e, name); item.DeletionTimestamp.IsZero() {
			t.Errorf("%s has a job and is not being deleted", name)
		}
	}
	if a := s.items(t)["a"]; a.DeletionTimestamp != nil {
		t.Error("a is being deleted although b and c depend on it")
	}
	s.finish(t, e, "b", script{})
	s.finish(t, e, "c", script{})
	testkit.EventuallyGone(t, s.APIServer, e)

	if left := s.items(t); len(left) > 0 {
		t.Errorf("%d items are left", len(left))
	}
	object := client.ObjectKey{Namespace: s.ns, Name: dataflow.ExecutionExportName("app")}
	if err := s.client.Get(t.Context(), object, &lsv1alpha1.DataObject{}); !apierrors.IsNotFound(err) {
		t.Errorf("the exports are left: %v", err)
	}
	s.goneInOrder(t, recorder, "d", "b", "c", "a")
	if phases := recorder.Of(e).Transitions("status.phase"); !slices.Equal(phases[len(phases)-2:], []string{"Succeeded", "Deleting"}) {
		t.Errorf("phases %q", phases)
	}
	s.lookedBeforeLettingGo(t, transport.Log())
}

// lookedBeforeLettingGo checks that the controller asked the API server which deploy items exist right before it removed the finalizer.
func (s *stage) lookedBeforeLettingGo(t *testing.T, log faults.Log) {
	t.Helper()
	letGo := log.Where(func(e faults.Entry) bool {
		return e.Resource == "executions" && slices.Contains(e.Fields, "metadata.finalizers")
	})
	looked := log.Where(func(e faults.Entry) bool { return e.Resource == "deployitems" && e.Verb == "list" })
	written := log.Where(func(e faults.Entry) bool { return e.Resource == "deployitems" && e.Write > 0 })
	if len(looked) != 2 || len(letGo) != 2 || len(written) == 0 {
		t.Fatalf("items were listed %d times and written %d times, finalizers written %d times:\n%s", len(looked), len(written), len(letGo), log)
	}
	if looked[1].Number < written[len(written)-1].Number || letGo[1].Number < looked[1].Number {
		t.Errorf("the server was not asked between the last write to an item and the end:\n%s", log)
	}
}

func TestJOB41_JOB44_WhatCannotBeDeletedFailsTheDeletionUntilTheNextJob(t *testing.T) {
	s := newStage(t)
	defer examine(t, s.record(t))
	s.start(t, s.Config())
	e := s.finished(t, s.launch(t, diamond(s.ns).Build()), lsv1alpha1.PhaseSucceeded)
	s.script("b", script{failDelete: "the cluster is away"})
	s.script("c", script{hold: true})

	s.remove(t, e)
	testkit.Eventually(
		t,
		s.APIServer,
		s.item(e, "b"),
		testkit.Is("failed", func(i *lsv1alpha1.DeployItem) bool { return i.Status.Phase == lsv1alpha1.PhaseDeleteFailed }),
	)
	e = testkit.Eventually(t, s.APIServer, e, testkit.Is("waiting for c", func(e *lsv1alpha1.Execution) bool {
		return strings.Contains(condition(e, lsv1alpha1.ConditionReady).Message, `"c"`)
	}))
	if e.Status.IsFinished() {
		t.Error("it has finished while c is being deleted")
	}
	s.finish(t, e, "c", script{})
	e = s.finished(t, e, lsv1alpha1.PhaseDeleteFailed)
	if !strings.Contains(e.Status.LastError.Message, "the cluster is away") || !slices.Contains(e.Finalizers, lsv1alpha1.Finalizer) {
		t.Errorf("last error %+v, finalizers %v", e.Status.LastError, e.Finalizers)
	}

	s.script("b", script{})
	s.run(t, e)
	testkit.EventuallyGone(t, s.APIServer, e)
	if left := s.items(t); len(left) > 0 {
		t.Errorf("%d items are left", len(left))
	}
}

// An execution that is deleted during a job finishes that job first.
func TestJOB40_ADeletionDuringAJobWaitsForIt(t *testing.T) {
	s := newStage(t)
	recorder := s.record(t)
	defer examine(t, recorder)
	s.script("a", script{hold: true})
	s.start(t, s.Config())
	e := s.launch(t, diamond(s.ns).Build())
	s.started(t, e, "a")
	if err := s.client.Delete(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	s.finish(t, e, "a", script{})
	e = s.finished(t, e, lsv1alpha1.PhaseSucceeded)
	for name, item := range s.items(t) {
		if item.DeletionTimestamp != nil || item.Status.Phase != lsv1alpha1.PhaseSucceeded {
			t.Errorf("%s is in phase %s, deleted %v", name, item.Status.Phase, item.DeletionTimestamp)
		}
	}
	s.run(t, e)
	testkit.EventuallyGone(t, s.APIServer, e)
}

// The watchdog of deploy items removes their finalizers, so no deployer has to act.
func TestJOB60_DeletionWithoutUninstallReachesTheItemsBeforeTheyAreDeleted(t *testing.T) {
	s := newStage(t)
	recorder := s.record(t)
	defer examine(t, recorder)
	s.startWith(t, s.Config(), func(m manager) error {
		return deployitems.Setup(m, deployitems.Options{Workers: 2})
	})
	e := s.finished(t, s.launch(t, diamond(s.ns).Build()), lsv1alpha1.PhaseSucceeded)
	for _, name := range []string{"a", "b", "c", "d"} {
		s.script(name, script{hold: true})
	}
	e.Annotations = map[string]string{lsv1alpha1.DeleteWithoutUninstallAnnotation: "true"}
	if err := s.client.Update(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	s.remove(t, e)
	testkit.EventuallyGone(t, s.APIServer, e)
	if left := s.items(t); len(left) > 0 {
		t.Errorf("%d items are left", len(left))
	}
	for _, revision := range recorder.History() {
		annotated := revision.Object.GetAnnotations()[lsv1alpha1.DeleteWithoutUninstallAnnotation] == "true"
		if revision.Field("metadata.deletionTimestamp") != "" && !annotated {
			t.Errorf("%s is being deleted without the annotation", revision.ID())
		}
	}
}
