// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package executions_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mock "espalier.dev/api/deployer/mock/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

var anything = mock.ProviderConfiguration{}

// diamond is an execution in which b and c depend on a, and d on both.
func diamond(ns string) *testkit.ExecutionBuilder {
	return testkit.Execution(ns, "app").
		MockItem("a", anything).MockItem("b", anything, "a").MockItem("c", anything, "a").MockItem("d", anything, "b", "c")
}

func TestJOB02_JOB70_ItemsStartWhenWhatTheyDependOnHasSucceeded(t *testing.T) {
	s := newStage(t)
	recorder := s.record(t)
	defer examine(t, recorder)
	s.script("b", script{hold: true})
	s.script("c", script{hold: true})
	s.start(t, s.Config())
	e := s.launch(t, diamond(s.ns).Build())

	b, c := s.started(t, e, "b"), s.started(t, e, "c")
	if b.Status.JobID != e.Status.JobID || c.Status.JobID != e.Status.JobID {
		t.Errorf("jobs %s and %s, want that of the execution, %s", b.Status.JobID, c.Status.JobID, e.Status.JobID)
	}
	s.inPhase(t, e, lsv1alpha1.PhaseProgressing)
	s.finish(t, e, "c", script{})
	if d := s.items(t)["d"]; d.Status.JobID != "" {
		t.Errorf("d has job %s while b runs", d.Status.JobID)
	}
	s.finish(t, e, "b", script{})
	e = s.finished(t, e, lsv1alpha1.PhaseSucceeded)

	if got := len(e.Status.DeployItemCache.ActiveDIs); got != 4 || len(e.Status.DeployItemCache.OrphanedDIs) != 0 {
		t.Errorf("recorded %+v", e.Status.DeployItemCache)
	}
	if !slices.Contains(e.Finalizers, lsv1alpha1.Finalizer) || e.Status.ObservedGeneration != e.Generation {
		t.Errorf("finalizers %v, observed generation %d of %d", e.Finalizers, e.Status.ObservedGeneration, e.Generation)
	}
	if phases := recorder.Of(e).Transitions("status.phase"); !slices.Equal(phases, []string{"", "Progressing", "Succeeded"}) {
		t.Errorf("phases %q: those that need no waiting are passed through in one write", phases)
	}
}

func TestJOB71_AFailureStopsWhatDependsOnItAndAwaitsTheRest(t *testing.T) {
	s := newStage(t)
	defer examine(t, s.record(t))
	s.script("a", script{fail: "the disk is full"})
	s.script("free", script{hold: true})
	s.start(t, s.Config())
	e := s.launch(t, diamond(s.ns).MockItem("free", anything).Build())

	testkit.Eventually(
		t,
		s.APIServer,
		s.item(e, "a"),
		testkit.Is("finished", func(i *lsv1alpha1.DeployItem) bool { return i.Status.Phase == lsv1alpha1.PhaseFailed }),
	)
	s.started(t, e, "free")
	e = testkit.Eventually(t, s.APIServer, e, testkit.Is("waiting for free", func(e *lsv1alpha1.Execution) bool {
		return strings.Contains(condition(e, lsv1alpha1.ConditionReady).Message, "free")
	}))
	if e.Status.IsFinished() || e.Status.LastError != nil {
		t.Errorf("status %+v: waiting is no error, and free is still running", e.Status)
	}
	s.finish(t, e, "free", script{})
	e = s.finished(t, e, lsv1alpha1.PhaseFailed)

	last := e.Status.LastError
	for _, says := range []string{`"a" (` + execution.ItemName("app", "a") + ")", "the disk is full", "not started as a result: b, c, d"} {
		if !strings.Contains(last.Message, says) {
			t.Errorf("the last error does not say %q: %s", says, last.Message)
		}
	}
	if last.Reason != execution.ReasonDeployItemsFailed || !slices.Equal(last.Codes, []lsv1alpha1.ErrorCode{lsv1alpha1.ErrorTimeout}) {
		t.Errorf("reason %s, codes %v", last.Reason, last.Codes)
	}
	for name, item := range s.items(t) {
		if started := item.Status.JobID != ""; started != (name == "a" || name == "free") {
			t.Errorf("%s is started: %t", name, started)
		}
	}
	s.announced(t, e, "Failed", "the disk is full")

	s.script("a", script{})
	s.finished(t, s.run(t, e), lsv1alpha1.PhaseSucceeded)
}

func condition(e *lsv1alpha1.Execution, kind lsv1alpha1.ConditionType) lsv1alpha1.Condition {
	for _, c := range e.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return lsv1alpha1.Condition{}
}

// announced checks that the failure of an execution is the only event about it.
func (s *stage) announced(t *testing.T, e *lsv1alpha1.Execution, reason, note string) {
	t.Helper()
	watcher, err := s.client.Watch(t.Context(), &eventsv1.EventList{}, client.InNamespace(s.ns))
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	for seen := range watcher.ResultChan() {
		event, ok := seen.Object.(*eventsv1.Event)
		if !ok || event.Regarding.Name != e.Name {
			continue
		}
		if event.Reason != reason || event.Type != corev1.EventTypeWarning || !strings.Contains(event.Note, note) {
			t.Errorf("event %s %s: %s", event.Type, event.Reason, event.Note)
		}
		return
	}
	t.Error("no event")
}

func TestJOB31_ACycleEndsTheJobAndNamesIt(t *testing.T) {
	s := newStage(t)
	s.start(t, s.Config())
	e := s.launch(t, testkit.Execution(s.ns, "app").MockItem("x", anything, "y").MockItem("y", anything, "x").Build())
	e = s.finished(t, e, lsv1alpha1.PhaseFailed)
	if !strings.Contains(e.Status.LastError.Message, "x -> y -> x") || len(s.items(t)) != 0 {
		t.Errorf("%s; %d items", e.Status.LastError.Message, len(s.items(t)))
	}
}

// The API server has the last word on whether a deploy item is valid. The error must not quote the configuration.
func TestJOB31_AnItemThatTheServerRejectsEndsTheJob(t *testing.T) {
	s := newStage(t)
	s.start(t, s.Config())
	e := testkit.Execution(s.ns, "app").Item(lsv1alpha1.DeployItemTemplate{
		Name: "not a label", Type: lsv1alpha1.DeployItemTypeMock, Configuration: diamond(s.ns).Build().Spec.DeployItems[0].Configuration,
	}).Build()
	e = s.finished(t, s.launch(t, e), lsv1alpha1.PhaseFailed)
	if last := e.Status.LastError; !strings.Contains(last.Message, `rejects deploy item "not a label": metadata.labels`) {
		t.Errorf("last error %+v", last)
	}
}

func TestAForeignObjectOfTheSameNameIsLeftAlone(t *testing.T) {
	s := newStage(t)
	s.start(t, s.Config())
	foreign := testkit.DeployItem(s.ns, execution.ItemName("app", "a")).Build()
	testkit.Create(t, s.APIServer, foreign)
	e := s.finished(t, s.launch(t, testkit.Execution(s.ns, "app").MockItem("a", anything).Build()), lsv1alpha1.PhaseFailed)
	if !strings.Contains(e.Status.LastError.Message, foreign.Name) {
		t.Errorf("last error %+v", e.Status.LastError)
	}
	if item := s.items(t)[""]; item.ResourceVersion != foreign.ResourceVersion {
		t.Error("it was changed")
	}
}

// A job of one item without exports costs four requests, whatever else the namespace contains. A job that is too short to be observed
// saves the status write in between.
func TestOneItemCostsFourRequests(t *testing.T) {
	s := newStage(t)
	transport := faults.New(faults.Plan{})
	s.start(t, transport.Config(s.Config()))
	warm := s.launch(t, testkit.Execution(s.ns, "other").MockItem("a", anything).Build())
	s.finished(t, warm, lsv1alpha1.PhaseSucceeded)
	e := ownedByAnInstallation(testkit.Execution(s.ns, "app").MockItem("a", anything).Finalizer(lsv1alpha1.Finalizer).Build())
	recorder := s.record(t)
	defer examine(t, recorder)
	s.script("a", script{hold: true})
	s.inPhase(t, s.launch(t, e), lsv1alpha1.PhaseProgressing)
	s.finish(t, e, "a", script{})
	s.finished(t, e, lsv1alpha1.PhaseSucceeded)
	recorder.Quiet(t, time.Second)

	about := transport.Log().Where(func(r faults.Entry) bool { return strings.HasPrefix(r.Name, "app") })
	if len(about) != 4 {
		t.Errorf("%d requests, want 4:\n%s", len(about), about)
	}
	first := len(transport.Log())
	s.finished(t, s.run(t, e), lsv1alpha1.PhaseSucceeded)
	recorder.Quiet(t, time.Second)
	if again := transport.Log()[first:]; len(again) > 3 {
		t.Errorf("an unchanged item costs %d requests, want at most 3:\n%s", len(again), again)
	}
}

// ownedByAnInstallation gives an execution an owner. The status of one created by hand reports at once that no job was requested.
func ownedByAnInstallation(e *lsv1alpha1.Execution) *lsv1alpha1.Execution {
	owner := &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: e.Name, UID: uuid.NewUUID()}}
	e.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, lsv1alpha1.SchemeGroupVersion.WithKind("Installation"))}
	return e
}

// inPhase waits until a phase of an execution is stored.
func (s *stage) inPhase(t *testing.T, e *lsv1alpha1.Execution, phase lsv1alpha1.Phase) {
	t.Helper()
	testkit.Eventually(
		t,
		s.APIServer,
		e,
		testkit.Is("in phase "+string(phase), func(e *lsv1alpha1.Execution) bool { return e.Status.Phase == phase }),
	)
}

func TestJOB71_ExportsAreCollectedInOneObject(t *testing.T) {
	s := newStage(t)
	s.script("a", script{export: `{"port": 80}`})
	s.script("c", script{export: "host: example.org\n"})
	transport := faults.New(faults.Plan{})
	s.start(t, transport.Config(s.Config()))
	e := s.finished(t, s.launch(t, diamond(s.ns).Build()), lsv1alpha1.PhaseSucceeded)
	name := dataflow.ExecutionExportName("app")
	if diff := cmp.Diff(&lsv1alpha1.ObjectReference{Namespace: s.ns, Name: name}, e.Status.ExportReference); diff != "" {
		t.Fatalf("exportRef (-want +got):\n%s", diff)
	}
	object := s.exported(t, name)
	if got := string(object.Data.Raw); got != `{"a":{"port":80},"c":{"host":"example.org"}}` {
		t.Errorf("exported %s", got)
	}
	if reads, err := transport.Log().Matching("get/secrets"); err != nil || len(reads) != 2 {
		t.Errorf("%d reads of Secrets, want one for each of the two: %v\n%s", len(reads), err, transport.Log())
	}

	s.script("c", script{export: "host: example.com\n"})
	s.finished(t, s.run(t, e), lsv1alpha1.PhaseSucceeded)
	if changed := s.exported(t, name); changed.UID != object.UID || !strings.Contains(string(changed.Data.Raw), "example.com") {
		t.Errorf("exported %s", changed.Data.Raw)
	}
}

func (s *stage) exported(t *testing.T, name string) *lsv1alpha1.DataObject {
	t.Helper()
	object := &lsv1alpha1.DataObject{}
	if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: s.ns, Name: name}, object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestJOB20_JOB70_OrphansGoFirstInReverseOrder(t *testing.T) {
	s := newStage(t)
	recorder := s.record(t)
	defer examine(t, recorder)
	s.start(t, s.Config())
	e := s.finished(t, s.launch(t, diamond(s.ns).Build()), lsv1alpha1.PhaseSucceeded)

	s.script("d", script{failDelete: "it clings"})
	e = s.respec(t, e, diamond(s.ns).Build().Spec.DeployItems[:2])
	e = s.finished(t, s.run(t, e), lsv1alpha1.PhaseFailed)
	if !strings.Contains(e.Status.LastError.Message, "it clings") || e.Status.LastError.Reason != execution.ReasonDeployItemsLeft {
		t.Errorf("last error %+v", e.Status.LastError)
	}
	for _, name := range []string{"a", "b"} {
		if item := s.items(t)[name]; item.Status.JobID == e.Status.JobID {
			t.Errorf("%s was started although an orphan is left", name)
		}
	}
	if c := s.items(t)["c"]; c.Name == "" || c.DeletionTimestamp != nil {
		t.Errorf("c was deleted although d, which depends on it, is left: %+v", c)
	}

	s.script("d", script{})
	e = s.finished(t, s.run(t, e), lsv1alpha1.PhaseSucceeded)
	if left := slices.Sorted(maps.Keys(s.items(t))); !slices.Equal(left, []string{"a", "b"}) ||
		len(e.Status.DeployItemCache.OrphanedDIs) > 0 {
		t.Errorf("left are %q, recorded %+v", left, e.Status.DeployItemCache)
	}
	s.goneInOrder(t, recorder, "d", "c")
}

// goneInOrder checks the order in which items were removed.
func (s *stage) goneInOrder(t *testing.T, recorder *testkit.Recorder, want ...string) {
	t.Helper()
	var gone []string
	for _, revision := range recorder.History() {
		if revision.Change == testkit.Deleted && revision.ID().Kind == "DeployItem" {
			gone = append(gone, nameOf(revision))
		}
	}
	if !slices.Equal(gone, want) {
		t.Errorf("gone in the order %q, want %q", gone, want)
	}
}

func (s *stage) respec(t *testing.T, e *lsv1alpha1.Execution, items []lsv1alpha1.DeployItemTemplate) *lsv1alpha1.Execution {
	t.Helper()
	e.Spec.DeployItems = items
	if err := s.client.Update(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestAnItemOfAnotherTypeIsDeletedAndCreatedAnew(t *testing.T) {
	s := newStage(t)
	defer examine(t, s.record(t))
	s.start(t, s.Config())
	e := s.finished(t, s.launch(t, diamond(s.ns).Build()), lsv1alpha1.PhaseSucceeded)
	before := s.items(t)
	changed := e.Spec.DeployItems
	changed[0].Type = "example.org/other"
	e = s.finished(t, s.run(t, s.respec(t, e, changed)), lsv1alpha1.PhaseSucceeded)
	after := s.items(t)
	a := after["a"]
	facts := map[string]any{"recreated": a.UID != before["a"].UID, "type": string(a.Spec.Type), "finished": a.Status.JobIDFinished}
	if diff := cmp.Diff(map[string]any{"recreated": true, "type": "example.org/other", "finished": e.Status.JobID}, facts); diff != "" {
		t.Errorf("deploy item a (-want +got):\n%s", diff)
	}
	if after["b"].UID != before["b"].UID {
		t.Error("b was created anew as well")
	}
}

// An item that vanishes while others run is not awaited forever, and the same job does not recreate it.
func TestJOB71_AnItemThatVanishesCountsAsFailed(t *testing.T) {
	s := newStage(t)
	s.script("a", script{hold: true})
	s.start(t, s.Config())
	e := s.launch(t, diamond(s.ns).Build())
	a := s.started(t, e, "a")
	s.inPhase(t, e, lsv1alpha1.PhaseProgressing)
	if err := s.client.Delete(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	a = testkit.Eventually(
		t,
		s.APIServer,
		a,
		testkit.Is("deleted", func(i *lsv1alpha1.DeployItem) bool { return i.DeletionTimestamp != nil }),
	)
	a.Finalizers = nil
	if err := s.client.Update(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	e = s.finished(t, e, lsv1alpha1.PhaseFailed)
	if !strings.Contains(e.Status.LastError.Message, "no longer exists") {
		t.Errorf("last error %+v", e.Status.LastError)
	}
	s.script("a", script{})
	s.finished(t, s.run(t, e), lsv1alpha1.PhaseSucceeded)
}

// An earlier controller has given its items other names, and stopped in the middle of a job.
func TestAJobOfAnEarlierControllerIsFinished(t *testing.T) {
	s := newStage(t)
	defer examine(t, s.record(t))
	e := diamond(s.ns).Finalizer(lsv1alpha1.Finalizer).Build()
	testkit.Create(t, s.APIServer, e)
	var a *lsv1alpha1.DeployItem
	for _, name := range []string{"a", "b", "c", "d"} {
		item := testkit.DeployItem(s.ns, "app-"+name+"-x7k2p").Finalizer(lsv1alpha1.Finalizer).
			Label(lsv1alpha1.ExecutionManagedByLabel, "app").Label(lsv1alpha1.ExecutionManagedNameLabel, name).
			Annotate(lsv1alpha1.ExecutionDependsOnAnnotation, map[string]string{"b": "a", "c": "a", "d": "b,c"}[name]).Build()
		testkit.Create(t, s.APIServer, item)
		if name == "a" {
			a = item
		}
	}
	s.script("a", script{hold: true})
	s.patchStatus(t, a, `{"status":{"jobID":"old-job","phase":"Progressing"}}`)
	s.patchStatus(t, e, `{"status":{"jobID":"old-job","phase":"Progressing"}}`)
	s.start(t, s.Config())
	if err := s.end(t.Context(), a, lsv1alpha1.PhaseSucceeded, ""); err != nil {
		t.Fatal(err)
	}
	s.script("a", script{})
	s.finished(t, e, lsv1alpha1.PhaseSucceeded)
	e = s.finished(t, s.run(t, e), lsv1alpha1.PhaseSucceeded)
	for name, item := range s.items(t) {
		if item.Name != "app-"+name+"-x7k2p" || item.Status.JobIDFinished != e.Status.JobID || !metav1.IsControlledBy(&item, e) {
			t.Errorf("%s is %s, finished %s", name, item.Name, item.Status.JobIDFinished)
		}
	}
}

func (s *stage) patchStatus(t *testing.T, object client.Object, patch string) {
	t.Helper()
	if err := s.client.Status().Patch(t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

func TestJOB70_TwoHundredItems(t *testing.T) {
	s := newStage(t)
	transport := faults.New(faults.Plan{})
	s.start(t, transport.Config(s.Config()))
	b := testkit.Execution(s.ns, "app").MockItem("first", anything)
	for i := range 198 {
		b.MockItem(fmt.Sprintf("item-%03d", i), anything, "first")
	}
	e := b.MockItem("last", anything, "item-000", "item-197").Build()
	s.finished(t, s.launch(t, e), lsv1alpha1.PhaseSucceeded)
	if len(s.items(t)) != 200 {
		t.Errorf("%d items", len(s.items(t)))
	}
	writes := transport.Log().Writes()
	own, err := writes.Matching("patch/executions/status")
	if err != nil || len(own) > 40 {
		t.Errorf("%d writes of its own status for 200 items: %v", len(own), err)
	}
	if others := len(writes) - len(own); others < 400 || others > 600 {
		t.Errorf("%d writes to 200 items, want little more than 400", others)
	}
	t.Logf("%d requests, %d writes of its own status", len(transport.Log()), len(own))
}

// A server that is briefly unavailable costs a retry of the phase and nothing else. The last error reports it, and disappears once it is
// over.
func TestJOB30_ANormalErrorIsRepeatedAndTold(t *testing.T) {
	repeatedAndTold(t, "")
}

// What was created is not created again just because the cache does not show it yet.
func TestJOB30_ANormalErrorIsRepeatedWhileTheCacheLags(t *testing.T) {
	// The range starts at the first write, the finalizer, and ends at the write of the item that was rejected before.
	repeatedAndTold(t, ";watch:deployitems:hold:1..7")
}

func repeatedAndTold(t *testing.T, meanwhile string) {
	t.Helper()
	s := newStage(t)
	recorder := s.record(t)
	defer examine(t, recorder)
	transport := faults.New(faults.MustParse("create/deployitems=" + execution.ItemName("app", "c") + ":1:503" + meanwhile))
	s.start(t, transport.Config(s.Config()))
	e := s.finished(t, s.launch(t, diamond(s.ns).Build()), lsv1alpha1.PhaseSucceeded)
	if e.Status.LastError != nil {
		t.Errorf("last error %+v", e.Status.LastError)
	}
	told := recorder.Of(e).Where(func(r testkit.Revision) bool {
		return r.Field("status.phase") == "Init" && strings.Contains(r.Field("status.lastError.message"), "create deploy items")
	})
	if len(told) != 1 {
		t.Errorf("the error was told %d times:\n%s", len(told), recorder.Of(e))
	}
	if created, err := transport.Log().Matching("create/deployitems"); err != nil || len(created) != 5 {
		t.Errorf("%d items were created, want four and one repetition: %v", len(created), err)
	}
}

// Repeated failures are retried at intervals that double. A timer is never early, however slow the machine is.
func TestJOB30_RetriesComeInGrowingIntervals(t *testing.T) {
	const objects, failures, first = 4, 6, 200 * time.Millisecond
	s := newStage(t)
	var plan []string
	var all []*lsv1alpha1.Execution
	for i := range objects {
		e := testkit.Execution(s.ns, fmt.Sprintf("app-%02d", i)).MockItem("only", anything).Build()
		for attempt := range failures {
			plan = append(plan, fmt.Sprintf("create/deployitems=%s:%d:503", execution.ItemName(e.Name, "only"), attempt+1))
		}
		all = append(all, e)
	}
	transport := faults.New(faults.MustParse(strings.Join(plan, ";")))
	s.start(t, transport.Config(s.Config()))
	for _, e := range all {
		s.launch(t, e)
	}
	for _, e := range all {
		s.finished(t, e, lsv1alpha1.PhaseSucceeded)
		attempts, err := transport.Log().Matching("create/deployitems=" + execution.ItemName(e.Name, "only"))
		if err != nil || len(attempts) != failures+1 {
			t.Fatalf("%s: %d attempts, want %d: %v", e.Name, len(attempts), failures+1, err)
		}
		early := 0
		for i, nominal := 1, first; i < len(attempts); i, nominal = i+1, 2*nominal {
			if attempts[i].At.Sub(attempts[i-1].At) < nominal*8/10 {
				early++
			}
		}
		// Events of the object itself (its job, its finalizer, the error in its status) trigger an immediate attempt. They may be late.
		if early > 3 {
			t.Errorf("%s: %d attempts came more than a fifth too early", e.Name, early)
		}
	}
}
