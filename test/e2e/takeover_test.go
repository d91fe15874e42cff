// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// The jobs of the tree in testdata/takeover: a finished one, and one that may be running.
const (
	oldJob = "3f1d7c52-5a0e-4f4b-9d0c-6f0f5a0c7e11"
	newJob = "8c2b4f6e-0d3a-4c1e-9b57-2e6d1f90ab34"
)

// emptyExports is the DataObject for the empty exports of the deploy items of front. Landscaper stores that, too; the next job of front
// drops it.
const emptyExports = "w2pb6x7t3w5vk7wcc6v6bouautw6c6v2"

// takenOver are the objects of the tree.
var takenOver = map[string][]string{
	"Installation": {"front-9wd2r", "shop", "store-p4x7k"},
	"Execution":    {"front-9wd2r", "shop", "store-p4x7k"},
	"DeployItem":   {"front-9wd2r-first-c6t4n", "front-9wd2r-second-lv9bd", "shop-notice-7k2xw", "store-p4x7k-config-8zq2m"},
	"DataObject": {
		"5k7pyjf5v2b3nqmfte4scsac32vexp64", "address", "cextscr3tuwn2f57v2jzrdmg7vsyu6ci", "ei5wjspizeqbpbixpd3rsbfqhljbnudf",
		"fyaqgu2ola2p7425mkjgtwsmtpfzjqvy", "nrebpn7n5tgd3nqoeb33vrduggyelkij", "r5kfomisweyhqs5amfpv5dmqbln2jbpg", "settings",
	},
	"Target": {
		"2bf2rar56vhps6esz4cft4u27hzwbebd", "363ef6n3wzumhx6oucwp2v3zknjj5gyn", "cluster", "erdlob6es6pocistvl4eot66jt7vptqe",
	},
	"ConfigMap": {"front-first", "front-kept", "front-second", "store"},
	"Secret": {
		"shop-notice-7k2xw-export", "store-p4x7k-config-8zq2m-export", "suygr65xjd7jjzub4y2b2tjzdievmkih",
	},
}

// inventory lists all objects of the namespace, except for the key for the hashes of imports, which the controllers own.
func (w *world) inventory() map[string][]string {
	w.Helper()
	own := func(name string) bool { return strings.HasPrefix(name, "espalier-") || name == "kube-root-ca.crt" }
	return map[string][]string{
		"Installation": w.names(&lsv1alpha1.InstallationList{}), "Execution": w.names(&lsv1alpha1.ExecutionList{}),
		"DeployItem": w.names(&lsv1alpha1.DeployItemList{}), "DataObject": w.names(&lsv1alpha1.DataObjectList{}),
		"Target":    w.names(&lsv1alpha1.TargetList{}),
		"ConfigMap": slices.DeleteFunc(w.names(&corev1.ConfigMapList{}), own),
		"Secret":    slices.DeleteFunc(w.names(&corev1.SecretList{}), own),
	}
}

// checkTree checks that a job ran over the objects of the tree, and over nothing else.
func (w *world) checkTree(job string) {
	w.Helper()
	left := w.inventory()
	left["DataObject"] = slices.DeleteFunc(left["DataObject"], func(name string) bool { return name == emptyExports })
	if difference := cmp.Diff(takenOver, left); difference != "" {
		w.Errorf("the objects are not those that were taken over:\n%s", difference)
	}
	for _, object := range w.tree() {
		type end struct {
			JobID, JobIDFinished string
			Phase                lsv1alpha1.Phase
			LastError            *lsv1alpha1.Error
		}
		status := runStatus(object)
		want := end{JobID: job, JobIDFinished: job, Phase: lsv1alpha1.PhaseSucceeded}
		if diff := cmp.Diff(want, end{status.JobID, status.JobIDFinished, status.Phase, status.LastError}); diff != "" {
			w.Errorf("%T %s (-want +got):\n%s", object, object.GetName(), diff)
		}
	}
	for name, uid := range w.uids {
		object, deployed := strings.CutPrefix(name, "ConfigMap/")
		live := w.configMap(object)
		if deployed && w.Read(live) && live.UID != uid {
			w.Errorf("%s was created anew", name)
		}
	}
	if got := w.data("address"); got != `"http://store.example.com/kept"` {
		w.Errorf("the export of the root is %s", got)
	}
}

// tree reads all objects that have jobs.
func (w *world) tree() []client.Object {
	w.Helper()
	var objects []client.Object
	var installations lsv1alpha1.InstallationList
	var executions lsv1alpha1.ExecutionList
	var items lsv1alpha1.DeployItemList
	w.names(&installations)
	w.names(&executions)
	w.names(&items)
	for i := range installations.Items {
		objects = append(objects, &installations.Items[i])
	}
	for i := range executions.Items {
		objects = append(objects, &executions.Items[i])
	}
	for i := range items.Items {
		objects = append(objects, &items.Items[i])
	}
	return objects
}

func runStatus(object client.Object) *lsv1alpha1.RunStatus {
	switch o := object.(type) {
	case *lsv1alpha1.Installation:
		return &o.Status.RunStatus
	case *lsv1alpha1.Execution:
		return &o.Status.RunStatus
	default:
		return &object.(*lsv1alpha1.DeployItem).Status.RunStatus
	}
}

// undisturbed starts the controllers and checks that they write nothing.
func (w *world) undisturbed() *testkit.Recorder {
	w.Helper()
	recorder := w.record()
	w.run()
	recorder.Quiet(w.T, 2*time.Second)
	if writes := recorder.History().Where(func(r testkit.Revision) bool { return r.Change != testkit.Existing }); len(writes) > 0 {
		w.Fatalf("the start of the controllers alone has led to writes:\n%s", writes)
	}
	return recorder
}

func TestTakeover_AFinishedTreeIsLeftAloneUntilAJobIsRequested(t *testing.T) {
	w := idleWorld(t)
	w.leaveBehind()
	recorder := w.undisturbed()

	root := w.rerun("shop", lsv1alpha1.PhaseSucceeded)
	if root.Status.JobID == oldJob {
		t.Error("no new job was begun")
	}
	w.checkTree(root.Status.JobID)
	for name, item := range w.items() {
		if item.Generation != 1 {
			t.Errorf("the spec of deploy item %s was changed, although it asks for the same", name)
		}
	}
	for _, object := range w.tree() {
		if jobs := recorder.Of(object).Transitions("status.jobID"); !slices.Equal(jobs, []string{oldJob, root.Status.JobID}) {
			t.Errorf("%T %s had the jobs %q, want one after the old one", object, object.GetName(), jobs)
		}
	}
	recorder.Quiet(t, time.Second)
}

func TestTakeover_AJobIsRequestedOfASuccessorThatWasNotNotified(t *testing.T) {
	w := idleWorld(t)
	w.leaveBehind("successor-untold.yaml")
	recorder := w.record()
	w.run()
	reader := w.nextJob("reader", oldJob)
	if got := w.data("copy"); reader.Status.Phase != lsv1alpha1.PhaseSucceeded || got != `"http://store.example.com/kept"` {
		t.Errorf("the successor exports %s: %+v", got, reader.Status)
	}
	recorder.Quiet(t, time.Second)
	if shop := w.installation("shop"); !w.Read(shop) || shop.Status.JobID != oldJob || len(shop.Status.DependentsToTrigger) > 0 {
		t.Errorf("the root itself: %+v", shop.Status)
	}
	if jobs := recorder.Of(reader).Transitions("status.jobID"); len(jobs) != 2 {
		t.Errorf("the successor had the jobs %q, want one", jobs)
	}
}

func TestTakeover_AFailedTreeStaysAndARequestRepairsIt(t *testing.T) {
	w := idleWorld(t)
	w.leaveBehind("failed.yaml")
	w.undisturbed()
	root := w.rerun("shop", lsv1alpha1.PhaseSucceeded)
	w.checkTree(root.Status.JobID)
}

func TestTakeover_AJobIsFinishedFromWhereItWasLeft(t *testing.T) {
	for _, c := range []struct {
		state string
		// finished are the deploy items that had already finished the job before the take-over, and what they have deployed.
		finished []string
	}{
		{state: "init"},
		{state: "cleanup-orphaned"},
		{state: "objects-created"},
		{state: "progressing", finished: []string{"first", "config", "notice"}},
		{state: "completing-below", finished: []string{"first", "second", "config", "notice"}},
		{state: "completing", finished: []string{"first", "second", "config", "notice"}},
	} {
		t.Run(c.state, func(t *testing.T) {
			w := idleWorld(t)
			w.leaveBehind(c.state + ".yaml")
			recorder := w.record()
			w.run()
			w.finished("shop", lsv1alpha1.PhaseSucceeded)
			w.checkTree(newJob)
			items := w.items()
			for _, name := range c.finished {
				if writes := recorder.Of(items[name]).Writes(); writes > 0 {
					t.Errorf("deploy item %s had finished the job, and was written %d times", name, writes)
				}
			}
			recorder.Quiet(t, time.Second)
		})
	}
}

func TestTakeover_ADeletionIsFinishedFromWhereItWasLeft(t *testing.T) {
	for _, state := range []string{"init-delete", "trigger-delete", "deleting"} {
		t.Run(state, func(t *testing.T) {
			w := idleWorld(t)
			w.leaveBehind(state + ".yaml")
			w.run()
			testkit.EventuallyGone(t, w.APIServer, w.installation("shop"))
			w.checkGone()
		})
	}
}

// checkGone checks that nothing is left of the tree but what users have created, and what a policy keeps.
func (w *world) checkGone() {
	w.Helper()
	want := map[string][]string{
		"Installation": {}, "Execution": {}, "DeployItem": {}, "DataObject": {"settings"}, "Target": {"cluster"},
		"ConfigMap": {"front-kept"}, "Secret": {},
	}
	if difference := cmp.Diff(want, w.inventory()); difference != "" {
		w.Errorf("what is left is not what should be:\n%s", difference)
	}
}

func TestTakeover_AFailedDeletionStaysAndARequestFinishesIt(t *testing.T) {
	w := idleWorld(t)
	w.leaveBehind("delete-failed.yaml")
	w.undisturbed()
	w.request("shop")
	testkit.EventuallyGone(t, w.APIServer, w.installation("shop"))
	w.checkGone()
}

func TestTakeover_DeletionRemovesWhatTheInventoryOfTheEarlierControllerSays(t *testing.T) {
	w := idleWorld(t)
	w.leaveBehind()
	w.run()
	w.removed("shop")
	w.checkGone()
}

func TestTakeover_DeletionWithoutUninstallLeavesWhatWasDeployed(t *testing.T) {
	w := idleWorld(t)
	w.leaveBehind()
	w.run()
	w.Annotate(w.installation("shop"), lsv1alpha1.DeleteWithoutUninstallAnnotation, "true")
	w.removed("shop")
	if left := w.inventory(); !slices.Equal(left["ConfigMap"], takenOver["ConfigMap"]) || len(left["DeployItem"]) > 0 {
		t.Errorf("left are %v", left)
	}
}
