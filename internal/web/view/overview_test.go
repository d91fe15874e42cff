// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/web/view"
)

func TestNothingNeedsAnybody(t *testing.T) {
	o := view.NewOverview(view.Scene{Now: now})
	expect(t, "verdict", o.Verdict, "Nothing needs you.")
	noNulls(t, o)
}

func TestEachCauseIsOneNeed(t *testing.T) {
	o := view.NewOverview(sceneOf(shop("a")...))
	noNulls(t, o)
	expect(t, "verdict", o.Verdict, "2 things need you.")
	if len(o.Needs) != 2 {
		t.Fatalf("needs: %+v", o.Needs)
	}
	failure, missing := o.Needs[0], o.Needs[1]
	expect(t, "title", failure.Title, "payments failed in shop")
	expect(t, "cause", failure.Cause, view.Ref{Kind: "DeployItem", Namespace: "a", Name: "shop-payments-api"})
	expect(t, "subject", failure.Subject, view.Ref{Kind: "Installation", Namespace: "a", Name: "shop"})
	expect(t, "holds up", failure.HoldsUp, 2)
	expect(t, "tone", failure.Tone, view.Failed)
	expect(t, "reason", failure.Reason, "ProgressingTimeout")
	expect(t, "message", failure.Message, "no match for platform <script>\nsecond line")
	expect(t, "command", failure.Command, "espalier why shop -n a")
	expect(t, "button", failure.Button, "See why")
	expect(t, "title", missing.Title, "mail waits for import smtp in shop")
	expect(t, "tone", missing.Tone, view.Waits)
	expect(t, "holds up", missing.HoldsUp, 0)
	row := o.Installations[0]
	expect(t, "progress", row.Progress, view.Progress{All: 2, Done: 1, Failed: 1})
	expect(t, "flow", row.Flow, "Job")
	expect(t, "version", row.Component+" "+row.Version, "example.com/shop 1.9.0")
	expect(t, "word", row.Status.Word, "Progressing")
	expect(t, "waits for", row.WaitsFor, "DeployItem/shop-payments-api (ProgressingTimeout): no match for platform <script> …")
}

// A root that waits for a failed root is not a separate need.
func TestRootsThatWaitForAFailure(t *testing.T) {
	database := testkit.Installation("a", "database").ExportData("address", "address").Build()
	database.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseFailed, clitest.Error("Broken", "it broke"))
	objects := []client.Object{database}
	for i := range 5 {
		web := testkit.Installation("a", fmt.Sprintf("web-%d", i)).ImportData("address", "address").Build()
		web.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseFailed, clitest.Error(explain.ReasonPredecessorFailed, "database failed"))
		objects = append(objects, web)
	}
	o := view.NewOverview(sceneOf(objects...))
	if len(o.Needs) != 1 {
		t.Fatalf("needs: %+v", o.Needs)
	}
	expect(t, "title", o.Needs[0].Title, "database failed")
	expect(t, "holds up", o.Needs[0].HoldsUp, 5)
	expect(t, "waits for", o.Installations[1].WaitsFor, "Installation/database (Broken): it broke")
}

// Large numbers of roots that exchange values are explained by their statuses.
func TestManyRootsThatExchangeValues(t *testing.T) {
	hub := testkit.Installation("a", "hub").ExportData("address", "address").Build()
	hub.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseFailed, clitest.Error("Broken", "it broke"))
	objects := []client.Object{hub}
	for i := range 300 {
		web := testkit.Installation("a", fmt.Sprintf("web-%d", i)).ImportData("address", "address").Build()
		web.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseInit, clitest.Waits(lsv1alpha1.ReasonWaitingForPredecessors, "waiting for hub"))
		objects = append(objects, web)
	}
	o := view.NewOverview(sceneOf(objects...))
	if len(o.Needs) != 1 {
		t.Fatalf("%d needs", len(o.Needs))
	}
	expect(t, "holds up", o.Needs[0].HoldsUp, 300)
	expect(t, "waits for", o.Installations[1].WaitsFor, "waiting for hub")
}

func TestWhatIsAChoiceIsNoNeed(t *testing.T) {
	fresh := testkit.Installation("a", "fresh").Build()
	outdated := testkit.Installation("a", "outdated").Build()
	outdated.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded)
	outdated.Generation = 7
	o := view.NewOverview(sceneOf(fresh, outdated))
	expect(t, "needs", len(o.Needs), 0)
	expect(t, "tone", o.Installations[0].Status.Tone, view.NotYet)
	expect(t, "tone", o.Installations[1].Status.Tone, view.Done)
	expect(t, "waits for", o.Installations[1].WaitsFor, "the spec has changed since the last job")
}

func TestTones(t *testing.T) {
	for name, c := range map[string]struct {
		status  lsv1alpha1.RunStatus
		deleted bool
		tone    view.Tone
		word    string
	}{
		"never had a job": {lsv1alpha1.RunStatus{}, false, view.NotYet, "NotStarted"},
		"works":           {clitest.Status(lsv1alpha1.PhaseCompleting), false, view.Works, "Completing"},
		"done":            {clitest.Status(lsv1alpha1.PhaseSucceeded), false, view.Done, "Succeeded"},
		"failed":          {clitest.Status(lsv1alpha1.PhaseFailed), false, view.Failed, "Failed"},
		"goes":            {clitest.Status(lsv1alpha1.PhaseDeleting), true, view.Going, "Deleting"},
		"cannot go":       {clitest.Status(lsv1alpha1.PhaseDeleteFailed), true, view.GoingFailed, "DeleteFailed"},
		"triggered":       {lsv1alpha1.RunStatus{JobID: "b", JobIDFinished: "a", Phase: lsv1alpha1.PhaseSucceeded}, false, view.NotYet, "Triggered"},
		"waits": {
			clitest.Status(lsv1alpha1.PhaseInit, clitest.Error("ImportNotFound", `import "a": x`)), false, view.Waits, "Init",
		},
	} {
		object := testkit.Installation("a", "x").Build()
		object.Status.RunStatus = c.status
		if c.deleted {
			object.DeletionTimestamp, object.Finalizers = &metav1.Time{Time: now}, []string{lsv1alpha1.Finalizer}
		}
		row := view.NewOverview(sceneOf(object)).Installations[0]
		expect(t, name, string(row.Status.Tone)+" "+row.Status.Word, string(c.tone)+" "+c.word)
	}
}

func TestWhatMayNotBeListedIsReported(t *testing.T) {
	s := sceneOf()
	s.Rights = without("list pipelines")
	hidden := view.NewOverview(s).Hidden
	if len(hidden) != 1 || !strings.Contains(hidden[0], "list pipelines.pipelines.weave.works in all namespaces") ||
		!strings.Contains(hidden[0], "kubectl auth can-i list pipelines.pipelines.weave.works -A") {
		t.Errorf("hidden: %q", hidden)
	}
}

func TestCertificatesThatEndSoon(t *testing.T) {
	s := sceneOf()
	at := func(d time.Duration) *view.TargetCheck {
		end := now.Add(d)
		return &view.TargetCheck{Reachable: true, Expires: &end}
	}
	s.Checks = map[view.Ref]*view.TargetCheck{
		{Kind: "Target", Namespace: "a", Name: "late"}:  at(400 * 24 * time.Hour),
		{Kind: "Target", Namespace: "a", Name: "soon"}:  at(6*24*time.Hour + time.Hour),
		{Kind: "Target", Namespace: "a", Name: "today"}: at(time.Hour),
		{Kind: "Target", Namespace: "a", Name: "was"}:   at(-time.Hour),
	}
	s.Checks[view.Ref{Kind: "Target", Namespace: "a", Name: "soon"}].Expiring = "server certificate"
	expect(t, "soon", strings.Join(view.NewOverview(s).Soon, " "), "The server certificate of Target soon in namespace a expires in 6 days. "+
		"The certificate or token of Target today in namespace a expires within a day. The certificate or token of Target was in namespace a has expired.")
}

func TestChanges(t *testing.T) {
	a, b := testkit.Installation("a", "a").Build(), testkit.Installation("a", "b").Build()
	before := view.NewOverview(sceneOf(a, b))
	later := sceneOf(a, b)
	later.Now = now.Add(time.Minute)
	if change, changed := view.ChangeSince(before, view.NewOverview(later)); changed {
		t.Errorf("nothing has changed but the time: %+v", change)
	}
	c, changedB := testkit.Installation("a", "c").Build(), b.DeepCopy()
	changedB.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseFailed)
	change, changed := view.ChangeSince(before, view.NewOverview(sceneOf(changedB, c)))
	noNulls(t, change)
	if !changed || len(change.Installations) != 2 || len(change.GoneInstallations) != 1 {
		t.Fatalf("change: %+v", change)
	}
	expect(t, "gone", change.GoneInstallations[0].Name, "a")
	expect(t, "verdict", change.Verdict, "1 thing needs you.")
	expect(t, "needs", len(change.Needs), 1)
}

// many returns installations of which every tenth has failed, each with an execution and a deploy item.
func many(count int) view.Scene {
	objects := make([]client.Object, 0, 3*count)
	for i := range count {
		root := testkit.Installation(fmt.Sprintf("team-%d", i%7), fmt.Sprintf("app-%d", i)).ImportData("subnet", "subnet").Build()
		execution := clitest.ExecutionOf(root, "api")
		item := clitest.ItemOf(execution, "api")
		status := clitest.Status(lsv1alpha1.PhaseSucceeded)
		if i%10 == 0 {
			status = clitest.Status(lsv1alpha1.PhaseFailed, clitest.Error("Broken", "it broke"))
		}
		root.Status.RunStatus, execution.Status.RunStatus, item.Status.RunStatus = status, status, status
		objects = append(objects, root, execution, item)
	}
	return sceneOf(objects...)
}

// crowd returns a tree with many nested installations, each of which imports from the previous one; all but the first wait.
func crowd(count int) view.Scene {
	root := testkit.Installation("a", "shop").Build()
	root.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing)
	objects := []client.Object{root}
	for i := range count {
		nested := clitest.Nested(root, fmt.Sprintf("app-%d", i)).ImportData("before", fmt.Sprintf("value-%d", i)).
			ExportData("after", fmt.Sprintf("value-%d", i+1)).Build()
		nested.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseInit, clitest.Waits(lsv1alpha1.ReasonWaitingForPredecessors, "waits"))
		if i == 0 {
			nested.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseFailed, clitest.Error("Broken", "it broke"))
		}
		objects = append(objects, nested)
	}
	return sceneOf(objects...)
}

// In a crowd, the statuses explain, and the cause is still found.
func TestACrowdIsExplained(t *testing.T) {
	for _, count := range []int{20, 100, 400} {
		page := view.NewInstallation(crowd(count), "a", "shop")
		expect(t, "verdict", page.Verdict, "shop cannot finish: app-0 failed.")
		expect(t, "holds up", len(page.Why.HoldsUp), count-1)
		expect(t, "edges", len(page.Graph.Edges), count)
		expect(t, "need", view.NewOverview(crowd(count)).Needs[0].HoldsUp, count-1)
	}
}

func BenchmarkNewInstallation(b *testing.B) {
	for _, count := range []int{10, 50, 51, 200, 1000} {
		scene := crowd(count)
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			for b.Loop() {
				view.NewInstallation(scene, "a", "shop")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(count), "ns/row")
		})
	}
}

func BenchmarkNewOverview(b *testing.B) {
	for _, count := range []int{1000, 10000} {
		scene := many(count)
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			for b.Loop() {
				if o := view.NewOverview(scene); len(o.Needs) != count/10 {
					b.Fatalf("%d needs", len(o.Needs))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(count), "ns/row")
		})
	}
}
