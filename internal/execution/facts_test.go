// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/failure"
)

// begun is an execution in phase Init of a job.
func begun(items ...lsv1alpha1.DeployItemTemplate) *lsv1alpha1.Execution {
	e := newExecution(items...)
	e.Finalizers = []string{lsv1alpha1.Finalizer}
	e.Status.JobID, e.Status.Phase = job, lsv1alpha1.PhaseInit
	return e
}

// stored is a deploy item as the execution creates it.
func stored(t *testing.T, e *lsv1alpha1.Execution, name string) *lsv1alpha1.DeployItem {
	t.Helper()
	o := execution.NewObserved(execution.Snapshot{Execution: e, Now: noon})
	for _, item := range o.Wanted {
		if item.Name == name && item.Write != nil {
			object := item.Write.DeepCopy()
			object.UID, object.ResourceVersion = types.UID("uid-"+name), "1"
			return object
		}
	}
	t.Fatalf("%s is not created: %+v", name, o)
	return nil
}

func observe(e *lsv1alpha1.Execution, items ...*lsv1alpha1.DeployItem) execution.Observed {
	s := execution.Snapshot{Execution: e, Now: noon}
	for _, item := range items {
		s.Items = append(s.Items, *item)
	}
	return execution.NewObserved(s)
}

func TestJOB70_AnItemCarriesEverythingThatDeployersAndUsersLookAt(t *testing.T) {
	timeout := lsv1alpha1.Duration("1m")
	item := template("web", "db")
	item.Labels = map[string]string{"tier": "front"}
	item.Target = &lsv1alpha1.ObjectReference{Name: "cluster", Namespace: "ns"}
	item.Timeout, item.UpdateOnChangeOnly, item.OnDelete = &timeout, true, &lsv1alpha1.OnDeleteConfig{SkipUninstallIfClusterRemoved: true}
	e := begun(template("db"), item)
	e.Spec.Context, e.Spec.Flow = "prod", lsv1alpha1.FlowJob
	e.Annotations[lsv1alpha1.CacheHelmChartsAnnotation] = "true"
	yes := true
	want := &lsv1alpha1.DeployItem{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: execution.ItemName("app", "web"), UID: "uid-web", ResourceVersion: "1",
			Labels: map[string]string{
				"tier": "front", "execution.landscaper.gardener.cloud/managed-by": "app", "execution.landscaper.gardener.cloud/name": "web",
			},
			Annotations: map[string]string{
				"execution.landscaper.gardener.cloud/dependsOn": "db", "landscaper.gardener.cloud/deployer-type": "landscaper.gardener.cloud/mock",
				"landscaper.gardener.cloud/deployer-target-name": "cluster", "landscaper.gardener.cloud/cache-helm-charts": "true",
			},
			Finalizers: []string{"finalizer.landscaper.gardener.cloud"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion:         "landscaper.gardener.cloud/v1alpha1",
				Kind:               "Execution",
				Name:               "app",
				UID:                "uid-app",
				Controller:         &yes,
				BlockOwnerDeletion: &yes,
			}},
		},
		Spec: lsv1alpha1.DeployItemSpec{
			Type: lsv1alpha1.DeployItemTypeMock, Target: item.Target, Context: "prod", Flow: lsv1alpha1.FlowJob, Configuration: item.Configuration,
			Timeout: &timeout, UpdateOnChangeOnly: true, OnDelete: item.OnDelete,
		},
	}
	if diff := cmp.Diff(want, stored(t, e, "web")); diff != "" {
		t.Error(diff)
	}
	if got := stored(t, e, "db").Annotations; got[lsv1alpha1.DeployerTargetNameAnnotation] != ".noTargetName" ||
		got[lsv1alpha1.ExecutionDependsOnAnnotation] != "" {
		t.Errorf("annotations of an item without target and dependencies: %v", got)
	}
}

func TestAnItemThatIsAsItShouldBeIsNotWritten(t *testing.T) {
	e := begun(template("a"))
	e.Spec.DeployItems[0].Configuration = &runtime.RawExtension{Raw: []byte(`{"kind": "C", "apiVersion": "v1", "x": [1.0, {"y": 2}]}`)}
	object := stored(t, e, "a")
	object.Spec.Configuration = &runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"C","x":[1,{"y":2}]}`)}
	object.Labels["foreign"], object.Annotations["foreign"] = "yes", "yes"
	object.Finalizers = append(object.Finalizers, "foreign")
	if got := observe(e, object).Wanted[0]; got.Write != nil || got.State != execution.StateIdle {
		t.Errorf("it is written: %s", cmp.Diff(object, got.Write))
	}
}

func TestAnItemThatIsNotAsItShouldBeIsWritten(t *testing.T) {
	e := begun(template("a"))
	changes := map[string]func(*lsv1alpha1.DeployItem){
		"configuration": func(i *lsv1alpha1.DeployItem) {
			i.Spec.Configuration.Raw = []byte(`{"apiVersion":"v1","kind":"C","x":1}`)
		},
		"context":    func(i *lsv1alpha1.DeployItem) { i.Spec.Context = "other" },
		"label":      func(i *lsv1alpha1.DeployItem) { delete(i.Labels, lsv1alpha1.ExecutionManagedNameLabel) },
		"annotation": func(i *lsv1alpha1.DeployItem) { i.Annotations[lsv1alpha1.ExecutionDependsOnAnnotation] = "gone" },
		"finalizer":  func(i *lsv1alpha1.DeployItem) { i.Finalizers = []string{"foreign"} },
		"owner":      func(i *lsv1alpha1.DeployItem) { i.OwnerReferences[0].UID = "an earlier execution" },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			object := stored(t, e, "a")
			change(object)
			got := observe(e, object)
			if len(got.Wanted) != 1 || got.Wanted[0].Write == nil {
				t.Fatalf("it is not written: %+v", got)
			}
			if again := observe(e, got.Wanted[0].Write).Wanted[0]; again.Write != nil {
				t.Errorf("it is written again: %s", cmp.Diff(got.Wanted[0].Write, again.Write))
			}
			object.Status.JobID = job
			if got := observe(e, object).Wanted[0]; got.Write != nil {
				t.Error("it is written although this job has started it")
			}
		})
	}
}

func TestAChangedTypeNeedsANewObject(t *testing.T) {
	e := begun(template("a"))
	object := stored(t, e, "a")
	object.Spec.Type = lsv1alpha1.DeployItemTypeHelm
	o := observe(e, object)
	if len(o.Orphaned) != 1 || o.Orphaned[0].Object.Name != object.Name || !o.Wanted[0].Replaced {
		t.Fatalf("the old object does not leave: %+v", o)
	}
	d := execution.Decide(o)
	if len(effects[execution.DeleteItems](d)) != 1 || len(effects[execution.CreateItems](d)) != 0 {
		t.Errorf("does %+v, want to delete the old one", d.Do)
	}
	if d.Next != "" || !d.Wait {
		t.Errorf("goes on to %q, waits %t, want to wait", d.Next, d.Wait)
	}
	if d = execution.Decide(observe(e)); len(effects[execution.CreateItems](d)) != 1 {
		t.Errorf("decided %+v, want to create the new one", d)
	}
}

// Earlier controllers used generated names. Their objects are found by label, or by the record in the status.
func TestObjectsOfEarlierControllersAreTakenOver(t *testing.T) {
	e := begun(template("a"))
	object := stored(t, e, "a")
	object.Name = "app-a-x7k2p"
	if o := observe(e, object); len(o.Orphaned) > 0 || o.Wanted[0].Object.Name != object.Name || o.Wanted[0].Write != nil {
		t.Errorf("by label: %+v", o)
	}
	object.Labels = nil
	e.Status.DeployItemCache = &lsv1alpha1.DeployItemCache{ActiveDIs: []lsv1alpha1.NamePair{{SpecName: "a", ObjectName: object.Name}}}
	if o := observe(e, object); len(o.Orphaned) > 0 || o.Wanted[0].Object.Name != object.Name || o.Wanted[0].Write == nil {
		t.Errorf("by record: %+v", o)
	}
}

func TestOfSeveralObjectsForOneItemTheRecordedOneStays(t *testing.T) {
	e := begun(template("a"))
	computed, recorded, other := stored(t, e, "a"), stored(t, e, "a"), stored(t, e, "a")
	recorded.Name, other.Name = "app-a-zzzzz", "app-a-aaaaa"
	e.Status.DeployItemCache = &lsv1alpha1.DeployItemCache{ActiveDIs: []lsv1alpha1.NamePair{{SpecName: "a", ObjectName: recorded.Name}}}
	o := observe(e, computed, recorded, other)
	if o.Wanted[0].Object.Name != recorded.Name || len(o.Orphaned) != 2 {
		t.Errorf("it stays %s, and %v leave", o.Wanted[0].Object.Name, o.Orphaned)
	}
	e.Status.DeployItemCache = nil
	if o := observe(e, other, computed); o.Wanted[0].Object.Name != computed.Name {
		t.Errorf("without a record %s stays", o.Wanted[0].Object.Name)
	}
	at := metav1.NewTime(noon)
	computed.DeletionTimestamp = &at
	if o := observe(e, other, computed); o.Wanted[0].Object.Name != other.Name {
		t.Errorf("%s stays although it is being deleted", o.Wanted[0].Object.Name)
	}
}

func TestARecordedItemIsNotGoneBeforeTheServerHasSaidSo(t *testing.T) {
	e := begun(template("a"))
	e.Status.DeployItemCache = &lsv1alpha1.DeployItemCache{ActiveDIs: []lsv1alpha1.NamePair{{SpecName: "a", ObjectName: "app-a-x7k2p"}}}
	o := observe(e)
	if d := execution.Decide(o); o.Wanted[0].State != execution.StateUnseen || !d.Wait || len(d.Do) > 0 {
		t.Errorf("unseen: %+v leads to %+v", o.Wanted[0], d)
	}
	gone := execution.NewObserved(execution.Snapshot{Execution: e, Gone: []string{"app-a-x7k2p"}, Now: noon})
	if d := execution.Decide(gone); len(effects[execution.CreateItems](d)) != 1 {
		t.Errorf("gone: %+v", d)
	}
}

// A job continues with the items that it started with.
func TestAChangeOfTheSpecDuringAJobHasNoEffect(t *testing.T) {
	e := begun(template("a"), template("b", "a"))
	a, b := stored(t, e, "a"), stored(t, e, "b")
	e.Status.Phase, e.Status.ObservedGeneration = lsv1alpha1.PhaseProgressing, 1
	e.Status.DeployItemCache = &lsv1alpha1.DeployItemCache{
		ActiveDIs: []lsv1alpha1.NamePair{{SpecName: "a", ObjectName: a.Name}, {SpecName: "b", ObjectName: b.Name}},
	}
	e.Generation = 2
	e.Spec.DeployItems = []lsv1alpha1.DeployItemTemplate{template("c"), template("b", "c")}
	if d := execution.Decide(observe(e, a, b)); !startsAny(d, "a") || startsAny(d, "b") || len(d.Do) != 1 {
		t.Errorf("decided %+v, want to start a", d)
	}
	a.Status.JobID, a.Status.JobIDFinished, a.Status.Phase = job, job, lsv1alpha1.PhaseSucceeded
	if d := execution.Decide(observe(e, a, b)); !startsAny(d, "b") || len(d.Do) != 1 {
		t.Errorf("decided %+v, want to start b", d)
	}
	e.Status.DeployItemCache = nil
	if d := execution.Decide(observe(e, a, b)); !startsAny(d, "b") || len(d.Do) != 1 {
		t.Errorf("without a record: decided %+v, want to start b", d)
	}
}

func TestAnItemThatAnotherJobWorksOnIsAwaited(t *testing.T) {
	e := begun(template("a"))
	object := stored(t, e, "a")
	object.Status.JobID = "started by hand"
	for _, phase := range []lsv1alpha1.Phase{lsv1alpha1.PhaseInit, lsv1alpha1.PhaseProgressing} {
		e.Status.Phase, e.Status.ObservedGeneration = phase, e.Generation
		o := observe(e, object)
		d := execution.Decide(o)
		if o.Wanted[0].State != execution.StateBusy || len(d.Do) > 0 {
			t.Errorf("%s: %+v leads to %+v", phase, o.Wanted[0], d)
		}
		if phase == lsv1alpha1.PhaseProgressing && (!d.Wait || !strings.Contains(d.Why.Message, "another job")) {
			t.Errorf("decided %+v, want to wait for the other job", d)
		}
	}
}

func TestJOB31_JOB71_ItemsThatCannotBeOrderedAreFatal(t *testing.T) {
	cases := map[string]struct {
		items []lsv1alpha1.DeployItemTemplate
		says  string
		code  string
	}{
		"a cycle": {
			[]lsv1alpha1.DeployItemTemplate{template("a", "b"), template("b", "c"), template("c", "a")},
			"dependency cycle: a -> b -> c -> a",
			"ERR_CYCLIC_DEPENDENCIES",
		},
		"itself": {[]lsv1alpha1.DeployItemTemplate{template("a", "a")}, "a depends on itself", "ERR_CYCLIC_DEPENDENCIES"},
		"a missing name": {
			[]lsv1alpha1.DeployItemTemplate{template("a", "x")},
			`"a" depends on "x", which does not exist`,
			"ERR_CONFIGURATION_PROBLEM",
		},
		"a name twice": {
			[]lsv1alpha1.DeployItemTemplate{template("a"), template("a")},
			`"a" occurs more than once`,
			"ERR_CONFIGURATION_PROBLEM",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { refuses(t, begun(c.items...), c.says, c.code) })
	}
	t.Run("unreadable", func(t *testing.T) {
		e := begun()
		e.Spec.DeployItemsCompressed = "%%%"
		refuses(t, e, "spec.deployItemsCompressed", "ERR_CONFIGURATION_PROBLEM")
	})
}

// refuses checks that a job ends with a terminal error that contains a text, and does nothing else.
func refuses(t *testing.T, e *lsv1alpha1.Execution, says, code string) {
	t.Helper()
	o := observe(e)
	d := execution.Decide(o)
	refused := effects[execution.Refuse](d)
	if len(d.Do) != 1 || len(refused) != 1 {
		t.Fatalf("does %+v, want to refuse", d.Do)
	}
	if d.Next != lsv1alpha1.PhaseFailed || failure.KindOf(refused[0].Err) != failure.Terminal {
		t.Fatalf("goes on to %q because of the %s error %v", d.Next, failure.KindOf(refused[0].Err), refused[0].Err)
	}
	execution.Settle(e, o, d, refused[0].Err)
	status := e.Status
	if status.Phase != lsv1alpha1.PhaseFailed || !status.IsFinished() || !strings.Contains(status.LastError.Message, says) {
		t.Errorf("status %+v with %+v, want Failed because of %q", status, status.LastError, says)
	}
	if len(status.LastError.Codes) != 1 || string(status.LastError.Codes[0]) != code {
		t.Errorf("codes %v, want %s", status.LastError.Codes, code)
	}
}

// A started item is awaited even if the spec has become invalid since.
func TestJOB04_AnImpossibleSpecDoesNotEndAJobWithARunningItem(t *testing.T) {
	e := begun(template("a"))
	object := stored(t, e, "a")
	object.Status.JobID = job
	e.Spec.DeployItems = []lsv1alpha1.DeployItemTemplate{template("a", "a")}
	o := observe(e, object)
	if d := execution.Decide(o); !d.Wait || d.Next != "" || len(d.Do) > 0 {
		t.Errorf("decided %+v", d)
	}
}

func TestItemsAreReadFromEitherForm(t *testing.T) {
	e := begun()
	packed := lsv1alpha1.ExecutionSpec{}
	many := make([]lsv1alpha1.DeployItemTemplate, 0, 200)
	for i := range 200 {
		many = append(many, template("item-"+strings.Repeat("x", 400)+string(rune('a'+i%26))+strings.Repeat("y", i)))
	}
	if err := packed.SetItems(many); err != nil || packed.DeployItemsCompressed == "" {
		t.Fatalf("the items are not compressed: %v", err)
	}
	e.Spec = packed
	if o := observe(e); o.Invalid != nil || len(o.Wanted) != 200 {
		t.Errorf("%d items, %v", len(o.Wanted), o.Invalid)
	}
}
