// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package executions_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

// The tests below take a diamond from its creation to the end of its deletion, and expect the same outcome whatever goes wrong once.

// A crash before a write equals one after the write before it, except where several writes are in flight.
func TestJOB04_JOB70_JOB72_CrashAtEveryWrite(t *testing.T) {
	plans := faults.EachWrite(reference(t), faults.CrashAfter, faults.LoseAnswer)
	for _, several := range []string{"create/deployitems", "write/executions", "patch/deployitems/status", "delete/deployitems", "create/dataobjects"} {
		plans = append(plans, faults.MustParse(several+":1:before"))
	}
	faults.Sweep(t, plans, liveThrough)
}

// The caches stop at every fourth write and lag until two writes later, or must list again.
func TestJOB04_JOB70_JOB72_StaleCacheAroundTheWrites(t *testing.T) {
	var plans []faults.Plan
	for _, entry := range reference(t).Writes() {
		if entry.Write%4 != 0 {
			continue
		}
		for _, fault := range []string{watchFault("deployitems", "hold", entry.Write), watchFault("deployitems", "relist", entry.Write), watchFault("executions", "hold", entry.Write)} {
			plans = append(plans, faults.MustParse(fault))
		}
	}
	faults.Sweep(t, plans, liveThrough)
}

func watchFault(resource, how string, write int) string {
	return fmt.Sprintf("watch:%s:%s:%d..%d", resource, how, write, write+2)
}

var goodDay = struct {
	once sync.Once
	log  faults.Log
}{}

// reference is what a controller requests from the API server when nothing fails.
func reference(t *testing.T) faults.Log {
	t.Helper()
	goodDay.once.Do(func() { goodDay.log = live(t, faults.Plan{}) })
	if len(goodDay.log) == 0 {
		t.Fatal("the reference run failed")
	}
	return goodDay.log
}

func liveThrough(t *testing.T, plan faults.Plan) {
	t.Parallel()
	live(t, plan)
}

// live runs the life of a diamond. A healthy controller replaces one that crashes, as a Deployment would do it.
func live(t *testing.T, plan faults.Plan) faults.Log {
	t.Helper()
	s := newEmptyStage(t)
	s.hireDeployer(t)
	s.script("b", script{export: "x: 1"})
	transport := faults.New(plan)
	first := s.start(t, transport.Config(s.Config()))
	defer transport.AfterCrash(func() {
		_ = first.Stop()
		s.start(t, s.Config())
	})()

	recorder := s.record(t)
	defer examine(t, recorder)
	e := s.finished(t, s.launch(t, diamond(s.ns).Build()), lsv1alpha1.PhaseSucceeded)
	s.checkDeployed(t, e)
	s.remove(t, e)
	testkit.EventuallyGone(t, s.APIServer, e)
	s.checkRemoved(t)
	checkPhases(t, recorder.Of(e))
	return transport.Log()
}

func (s *stage) checkDeployed(t *testing.T, e *lsv1alpha1.Execution) {
	t.Helper()
	items := s.items(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		if item := items[name]; item.Status.JobIDFinished != e.Status.JobID || item.Status.Phase != lsv1alpha1.PhaseSucceeded {
			t.Errorf("%s is %+v", name, item.Status)
		}
	}
	if len(items) != 4 || len(e.Status.DeployItemCache.ActiveDIs) != 4 {
		t.Errorf("%d items, recorded %+v", len(items), e.Status.DeployItemCache)
	}
	if e.Status.ExportReference == nil {
		t.Fatal("there is no exportRef")
	}
	if got := string(s.exported(t, e.Status.ExportReference.Name).Data.Raw); got != `{"b":{"x":1}}` {
		t.Errorf("exported %s", got)
	}
}

func (s *stage) checkRemoved(t *testing.T) {
	t.Helper()
	if left := s.items(t); len(left) > 0 {
		t.Errorf("%d items are left", len(left))
	}
	err := s.client.Get(t.Context(), client.ObjectKey{Namespace: s.ns, Name: dataflow.ExecutionExportName("app")}, &lsv1alpha1.DataObject{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the exports are left: %v", err)
	}
}

// checkPhases checks that one job moves forward through its phases, and then the deletion does.
func checkPhases(t *testing.T, life testkit.History) {
	t.Helper()
	order := []string{"", "Init", "Progressing", "Completing", "Succeeded", "InitDelete", "Deleting"}
	if phases := life.Transitions("status.phase"); !slices.IsSortedFunc(phases, func(a, b string) int {
		return slices.Index(order, a) - slices.Index(order, b)
	}) {
		t.Errorf("phases %q are out of order", phases)
	}
}

// A process dies after it has created a deploy item, and a user aborts before another process records the item in the status. A change of
// the flow nevertheless reaches the item.
func TestCON16_AnItemThatWasNotNotifiedFollowsAChangeOfTheFlow(t *testing.T) {
	s := newEmptyStage(t)
	transport := faults.New(faults.MustParse("create/deployitems:1:after"))
	first := s.start(t, transport.Config(s.Config()))
	e := testkit.Execution(s.ns, "app").MockItem("a", anything).Build()
	e.Spec.Flow = lsv1alpha1.FlowContinuous
	testkit.Create(t, s.APIServer, e)
	<-transport.Crashed()
	_ = first.Stop()
	s.patch(t, e, `{"metadata":{"annotations":{"landscaper.gardener.cloud/operation":"abort"}}}`)
	s.start(t, s.Config())
	testkit.Eventually(t, s.APIServer, e, testkit.Is("aborted, and asked for nothing", func(e *lsv1alpha1.Execution) bool {
		return e.Status.Phase == lsv1alpha1.PhaseFailed && e.Annotations[lsv1alpha1.OperationAnnotation] == ""
	}))
	s.patch(t, e, `{"spec":{"flow":"Job"}}`)
	testkit.Eventually(t, s.APIServer, s.item(e, "a"), testkit.Is("of the flow of jobs", func(i *lsv1alpha1.DeployItem) bool {
		return i.Spec.Flow.OrDefault() == lsv1alpha1.FlowJob && i.Status.ObservedGeneration == i.Generation
	}))
}

func (s *stage) patch(t *testing.T, object client.Object, patch string) {
	t.Helper()
	if err := s.client.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// A finished world stays as it is: no request, even when something changes that requires none.
func TestAFinishedExecutionIsQuiet(t *testing.T) {
	s := newStage(t)
	transport := faults.New(faults.Plan{})
	s.start(t, transport.Config(s.Config()))
	recorder := s.record(t)
	e := s.finished(t, s.launch(t, diamond(s.ns).Build()), lsv1alpha1.PhaseSucceeded)
	recorder.Quiet(t, time.Second)
	requests := len(transport.Log())
	note := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"note":"pretty"}}}`))
	for _, object := range []client.Object{e, s.item(e, "a")} {
		if err := s.client.Patch(t.Context(), object, note); err != nil {
			t.Fatal(err)
		}
	}
	recorder.Quiet(t, time.Second)
	if asked := transport.Log()[requests:]; len(asked) > 0 {
		t.Errorf("an idle pass asked the API server:\n%s", asked)
	}
}
