// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

// The tests below take a sample from the request to the end of its deletion, and expect the same outcome whatever goes wrong once.

func TestCrashAtEveryWrite(t *testing.T) {
	faults.Sweep(t, faults.EachWrite(reference(t)), liveThrough)
}

func TestErrorAtEveryWrite(t *testing.T) {
	faults.Sweep(
		t,
		faults.EachWrite(reference(t), faults.AnswerConflict, faults.AnswerTooMany, faults.AnswerInternalError, faults.AnswerUnavailable,
			faults.AnswerGatewayTimeout, faults.Reset, faults.Timeout, faults.LoseAnswerByTimeout),
		liveThrough,
	)
}

// Together with the writes, these are all requests.
func TestCrashAtEveryRead(t *testing.T) {
	var plans []faults.Plan
	for _, entry := range reference(t).Where(func(e faults.Entry) bool { return e.Write == 0 }) {
		plans = append(
			plans,
			faults.MustParse(fmt.Sprintf("request:%d:before", entry.Number)),
			faults.MustParse(fmt.Sprintf("request:%d:after", entry.Number)),
		)
	}
	faults.Sweep(t, plans, liveThrough)
}

// Each kind's cache in turn stops at each write and lags until the next one, or must list again.
func TestStaleCacheAroundEveryWrite(t *testing.T) {
	var plans []faults.Plan
	for _, entry := range reference(t).Writes() {
		for _, resource := range []string{"samples", "configmaps"} {
			for _, how := range []string{"hold", "relist"} {
				plans = append(plans, faults.MustParse(fmt.Sprintf("watch:%s:%s:%d..%d", resource, how, entry.Write, entry.Write+1)))
			}
		}
	}
	faults.Sweep(t, plans, liveThrough)
}

func TestCutWatchesAtEveryWrite(t *testing.T) {
	var plans []faults.Plan
	for _, entry := range reference(t).Writes() {
		plans = append(plans, faults.MustParse(fmt.Sprintf("watch:samples:cut:%[1]d;watch:configmaps:gone:%[1]d", entry.Write)))
	}
	faults.Sweep(t, plans, liveThrough)
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

// live runs a sample's life. A healthy controller replaces one that crashes, as a Deployment would do it.
func live(t *testing.T, plan faults.Plan) faults.Log {
	t.Helper()
	g := newFixture(t)
	transport := faults.New(plan)
	first := g.start(t, transport.Config(g.Config()), nil)
	defer transport.AfterCrash(func() {
		_ = first.Stop()
		g.start(t, g.Config(), nil)
	})()

	recorder := testkit.Record(t, g.APIServer, g.ns, testkit.Kinds(&Sample{}, &corev1.ConfigMap{}))
	p := testkit.Eventually(t, g.APIServer, g.create(t, "a", twoParts), testkit.Is("finished", func(p *Sample) bool {
		return p.Status.Phase != "" && p.Status.IsFinished()
	}))
	if p.Status.Phase != lsv1alpha1.PhaseSucceeded {
		t.Errorf("phase %s, want Succeeded", p.Status.Phase)
	}
	if err := g.completed(t, p); err != nil {
		t.Error(err)
	}
	g.cutDown(t, p)
	checkLife(t, recorder.Of(p))
	return transport.Log()
}

// checkLife checks every state that a sample has had: one request is one job, the deletion is another, a job goes through its phases in
// order, and it is finished in the very write that reaches its last phase.
func checkLife(t *testing.T, life testkit.History) {
	t.Helper()
	// A deletion without a wait, because a crashed controller had cleared the parts, leaves no trace in the status.
	if jobs := life.Transitions("status.jobID"); len(jobs) < 2 || len(jobs) > 3 || jobs[0] != "" {
		t.Errorf("jobs %q, want none, that of the request, that of the deletion if it had to wait", jobs)
	}
	order := []string{"", "Init", "ObjectsCreated", "Progressing", "Completing", "Succeeded", "InitDelete", "Deleting"}
	if phases := life.Transitions("status.phase"); !slices.IsSortedFunc(phases, func(a, b string) int {
		return slices.Index(order, a) - slices.Index(order, b)
	}) {
		t.Errorf("phases %q are out of order", phases)
	}
	for _, revision := range life {
		job, finished, phase := revision.Field("status.jobID"), revision.Field("status.jobIDFinished"), revision.Field("status.phase")
		if ended := phase == "" || phase == "Succeeded"; ended != (job == finished) {
			t.Errorf("phase %q with job %q and finished job %q", phase, job, finished)
		}
	}
}

// A finished world stays as it is: no write, however long the test waits.
func TestAFinishedWorldIsQuiet(t *testing.T) {
	g := newFixture(t)
	transport := faults.New(faults.Plan{})
	g.start(t, transport.Config(g.Config()), nil)
	recorder := testkit.Record(t, g.APIServer, g.ns, testkit.Kinds(&Sample{}, &corev1.ConfigMap{}))
	p := g.eventually(t, g.create(t, "a", twoParts), lsv1alpha1.PhaseSucceeded)
	recorder.Quiet(t, time.Second)
	// A change that requires nothing wakes the controller, which must only read.
	before, requests := recorder.History(), len(transport.Log())
	note := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"note":"pretty"}}}`))
	if err := g.client.Patch(t.Context(), p, note); err != nil {
		t.Fatal(err)
	}
	recorder.Quiet(t, time.Second)
	if writes := recorder.Since(before).Writes(); writes != 1 {
		t.Errorf("%d writes, want the test's own one", writes)
	}
	if asked := transport.Log()[requests:]; len(asked) > 0 {
		t.Errorf("an idle pass asked the API server:\n%s", asked)
	}
}

// cutDown deletes a sample and checks that its parts were deleted with it.
func (g *fixture) cutDown(t *testing.T, p *Sample) {
	t.Helper()
	if err := g.client.Delete(t.Context(), p); err != nil {
		t.Fatalf("delete: %v", err)
	}
	testkit.EventuallyGone(t, g.APIServer, p)
	for _, name := range p.Spec.Parts {
		err := g.client.Get(t.Context(), client.ObjectKey{Namespace: g.ns, Name: name}, &corev1.ConfigMap{})
		if err == nil || client.IgnoreNotFound(err) != nil {
			t.Errorf("part %s after the deletion: %v, want not found", name, err)
		}
	}
}

// A controller that has not seen a foreign write must neither overwrite it nor createResult: the write before the createResult proves that
// it knows the newest version.
func TestAnEffectThatIsNotIdempotentWaitsForTheNewestVersion(t *testing.T) {
	g := newIdleFixture(t)
	transport := faults.New(faults.Plan{})
	c := g.start(t, transport.Config(g.Config()), nil)
	p := testkit.Eventually(t, g.APIServer, g.create(t, "a", SampleSpec{Parts: []string{"rose"}}),
		testkit.Is("waiting", func(p *Sample) bool { return p.Status.Phase == lsv1alpha1.PhaseProgressing }))
	c.awaitView(t, p) // a controller that does not see its own write yet waits for that instead

	transport.Hold("samples")
	foreign := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"foreign":"yes"}},"spec":{"parts":["rose"]}}`))
	if err := g.client.Patch(t.Context(), p, foreign); err != nil {
		t.Fatal(err)
	}
	var part corev1.ConfigMap
	if err := g.client.Get(t.Context(), client.ObjectKey{Namespace: g.ns, Name: "rose"}, &part); err != nil {
		t.Fatal(err)
	}
	g.complete(t.Context(), t, &part)
	awaitConflicts(t, transport, 2)
	if results := g.results(t, p); results != 0 {
		t.Errorf("%d results while the controller's view is stale, want none", results)
	}

	transport.Release("samples")
	p = g.eventually(t, p, lsv1alpha1.PhaseSucceeded)
	if results := g.results(t, p); results != 1 || p.Annotations["foreign"] != "yes" {
		t.Errorf("%d results, annotations %v, want one result and the foreign annotation", results, p.Annotations)
	}
}

// awaitConflicts returns once the given number of status writes was rejected because their view was stale.
func awaitConflicts(t *testing.T, transport *faults.Transport, want int) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, testkit.Patience, true, func(context.Context) (bool, error) {
		refused := transport.Log().Where(func(e faults.Entry) bool { return e.Status == http.StatusConflict })
		return len(refused) >= want, nil
	})
	if err != nil {
		t.Fatalf("the stale controller was not refused %d times: %v\n%s", want, err, transport.Log())
	}
}

func (g *fixture) results(t *testing.T, p *Sample) int {
	t.Helper()
	var all corev1.ConfigMapList
	if err := g.client.List(t.Context(), &all, client.InNamespace(g.ns), client.HasLabels{jobLabel}, client.MatchingLabels{sampleLabel: p.Name}); err != nil {
		t.Fatal(err)
	}
	return len(all.Items)
}
