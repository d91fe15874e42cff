// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/deployitem"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/target"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

func remembered(objects ...any) runtime.Object {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.org/v1", "kind": "Memory", "objects": objects}}
}

// live reads an item from the API server, bypassing every cache.
func (w *world) live(name string) (*lsv1alpha1.DeployItem, error) {
	item := &lsv1alpha1.DeployItem{}
	return item, w.Client().Get(context.Background(), client.ObjectKey{Namespace: w.Namespace, Name: name}, item)
}

func TestJOB73_DeployerIsCalledAfterThePickUpIsStored(t *testing.T) {
	w := newWorld(t)
	recorder := testkit.Record(t, w.APIServer, w.Namespace, testkit.Groups("landscaper.gardener.cloud"))
	transport := faults.New(faults.Plan{})
	var seen *lsv1alpha1.DeployItem
	var problem error
	d := &scripted{
		intend: func(context.Context, deployer.Work) (runtime.Object, error) { return remembered("a"), nil },
		deploy: func(context.Context, deployer.Work) (deployer.Progress, error) {
			seen, problem = w.live("db")
			return deployer.Progress{Done: true, ProviderStatus: remembered("a", "b")}, nil
		},
	}
	w.runOver(transport.Config(w.Config()), d, deployer.Options{Version: "v7", Identity: "north"})
	done := w.succeeds(w.item("db"))

	if problem != nil {
		t.Fatal(problem)
	}
	if seen.Status.Phase != lsv1alpha1.PhaseProgressing || seen.Status.LastReconcileTime == nil || seen.Status.IsFinished() {
		t.Errorf("when the deployer was called, the pick-up was not stored: %+v", seen.Status)
	}
	if want := (lsv1alpha1.DeployerInformation{Identity: "north", Name: "deployer-scripted", Version: "v7"}); seen.Status.Deployer != want {
		t.Errorf("picked up by %+v", seen.Status.Deployer)
	}
	if !strings.Contains(string(seen.Status.ProviderStatus.Raw), `["a"]`) {
		t.Errorf("when the deployer was called, its intention was not stored: %s", seen.Status.ProviderStatus.Raw)
	}
	if !strings.Contains(string(done.Status.ProviderStatus.Raw), `["a","b"]`) {
		t.Errorf("in the end it remembers %s", done.Status.ProviderStatus.Raw)
	}
	recorder.Quiet(t, time.Second)
	if diff := cmp.Diff([]string{"", "Progressing", "Succeeded"}, recorder.Of(done).Transitions("status.phase")); diff != "" {
		t.Errorf("phases: %s", diff)
	}
	if diff := cmp.Diff([]string{"", "first"}, recorder.Of(done).Transitions("status.jobIDFinished")); diff != "" {
		t.Errorf("finished jobs: %s", diff)
	}
	if writes, _ := transport.Log().Matching("patch/deployitems/status"); len(writes) != 2 {
		t.Errorf("%d status writes, want 2:\n%s", len(writes), transport.Log().Writes())
	}
	if d.counted("deploy db") != 1 {
		t.Errorf("the deployer was called %d times", d.counted("deploy db"))
	}
}

func TestJOB73_DeployerLeavesFinishedAndForeignItemsAlone(t *testing.T) {
	w := newWorld(t)
	d := &scripted{}
	idle := testkit.DeployItem(w.Namespace, "idle").Config(itemType, map[string]any{"apiVersion": "example.org/v1", "kind": "Config"}).Build()
	other := testkit.DeployItem(w.Namespace, "other").Build()
	w.Create(idle, other)
	w.begin(other, "first")
	w.run(d, deployer.Options{})
	w.succeeds(w.item("later"))
	for _, item := range []*lsv1alpha1.DeployItem{idle, other} {
		now, err := w.live(item.Name)
		if err != nil {
			t.Fatal(err)
		}
		if now.ResourceVersion != item.ResourceVersion || d.counted("deploy "+item.Name) > 0 {
			t.Errorf("%s was touched: %+v", item.Name, now.Status)
		}
	}
}

func TestJOB75_ItemWithUpdateOnChangeOnlyIsDeployedOncePerSpec(t *testing.T) {
	w := newWorld(t)
	d := &scripted{deploy: func(context.Context, deployer.Work) (deployer.Progress, error) {
		return deployer.Progress{Done: true, Exports: map[string]any{"a": 1}}, nil
	}}
	w.run(d, deployer.Options{})
	item := w.succeeds(w.item("db", func(i *lsv1alpha1.DeployItem) { i.Spec.UpdateOnChangeOnly = true }))
	w.begin(item, "second")
	item = w.succeeds(item)
	if d.counted("deploy db") != 1 || item.Status.JobIDFinished != "second" || item.Status.ExportReference == nil {
		t.Errorf("called %d times, finished %s, exports %v", d.counted("deploy db"), item.Status.JobIDFinished, item.Status.ExportReference)
	}
	item.Spec.Context = "changed"
	if err := w.Client().Update(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	w.begin(item, "third")
	if w.succeeds(item); d.counted("deploy db") != 2 {
		t.Errorf("after a change it was deployed %d times", d.counted("deploy db"))
	}
}

func TestADeployerThatWaitsIsAskedAgainWhenItAsksForIt(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	var wake func()
	ready := false
	d := &scripted{deploy: func(_ context.Context, work deployer.Work) (deployer.Progress, error) {
		mu.Lock()
		defer mu.Unlock()
		wake = work.Wake
		return deployer.Progress{Done: ready, Waiting: decision.Reason{Code: "WaitingForRain", Message: "cloud north"}, Recheck: time.Hour}, nil
	}}
	w.run(d, deployer.Options{})
	item := w.waits(w.item("db"), "WaitingForRain")
	if item.Status.LastError != nil || item.Status.TransitionTimes.WaitTime == nil {
		t.Errorf("waiting looks like %+v", item.Status)
	}
	mu.Lock()
	ready = true
	again := wake
	mu.Unlock()
	again()
	again()
	w.succeeds(item)
}

func TestErrorsAreRetriedOrEndTheJob(t *testing.T) {
	w := newWorld(t)
	var calls int
	d := &scripted{deploy: func(_ context.Context, work deployer.Work) (deployer.Progress, error) {
		if work.Item.Name == "broken" {
			return deployer.Progress{ProviderStatus: remembered("kept")}, failure.Terminalf(failure.Details{
				Operation: "Apply",
				Reason:    "Broken",
			}, "it is broken")
		}
		if calls++; calls < 3 {
			return deployer.Progress{}, failure.NewRetryable(failure.Details{Operation: "Apply", Reason: "Flaky"}, errors.New("not now"))
		}
		return deployer.Progress{Done: true}, nil
	}}
	w.run(d, deployer.Options{})
	flaky := w.succeeds(w.item("flaky"))
	flakyError := lsv1alpha1.Error{Operation: "Apply", Reason: "Flaky"}
	unsaid := cmpopts.IgnoreFields(lsv1alpha1.Error{}, "Message", "LastTransitionTime", "LastUpdateTime")
	if diff := cmp.Diff(&flakyError, flaky.Status.FirstError, unsaid); diff != "" {
		t.Errorf("the first error (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff((*lsv1alpha1.Error)(nil), flaky.Status.LastError, unsaid); diff != "" {
		t.Errorf("the last error, after success (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]lsv1alpha1.Error{flakyError}, flaky.Status.LastErrors, unsaid); diff != "" {
		t.Errorf("the errors (-want +got):\n%s", diff)
	}
	broken := w.fails(w.item("broken"))
	if e := broken.Status.LastError; e == nil || e.Reason != "Broken" || !strings.Contains(e.Message, "it is broken") {
		t.Errorf("last error %+v", e)
	}
	if broken.Status.ProviderStatus == nil || !strings.Contains(string(broken.Status.ProviderStatus.Raw), "kept") {
		t.Errorf("what was remembered is lost: %v", broken.Status.ProviderStatus)
	}
}

func TestAPanicEndsTheJobAndNothingElse(t *testing.T) {
	w := newWorld(t)
	d := &scripted{deploy: func(_ context.Context, work deployer.Work) (deployer.Progress, error) {
		if work.Item.Name == "bad" {
			panic("password=hunter2")
		}
		return deployer.Progress{Done: true}, nil
	}}
	w.run(d, deployer.Options{})
	bad := w.fails(w.item("bad"))
	e := bad.Status.LastError
	if e == nil || !slices.Equal(e.Codes, []lsv1alpha1.ErrorCode{lsv1alpha1.ErrorInternalProblem}) || strings.Contains(e.Message, "hunter2") {
		t.Errorf("last error %+v", e)
	}
	w.succeeds(w.item("good"))
}

func TestAnItemWaitsForItsTarget(t *testing.T) {
	w := newWorld(t)
	d := &scripted{deploy: func(_ context.Context, work deployer.Work) (deployer.Progress, error) {
		return deployer.Progress{Done: true}, checkTarget(work, "late")
	}}
	w.run(d, deployer.Options{})
	item := w.waits(w.item("db", on("late")), lsv1alpha1.ReasonNoTargetFound)
	if d.counted("deploy db") != 0 || item.Status.Deployer.Name == "" {
		t.Errorf("called %d times, picked up by %+v", d.counted("deploy db"), item.Status.Deployer)
	}
	w.Create(testkit.Target(w.Namespace, "late").Build())
	w.succeeds(item)
}

// A deployer that waits is called again when the Secret with the content of the Target changes, long before its own recheck.
func TestAnItemNoticesTheSecretOfItsTarget(t *testing.T) {
	w := newWorld(t)
	kubeconfig, err := os.ReadFile(w.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "credential"},
		Data:       map[string][]byte{"kubeconfig": kubeconfig},
	}
	key := client.ObjectKeyFromObject(secret)
	d := &scripted{deploy: func(ctx context.Context, work deployer.Work) (deployer.Progress, error) {
		if work.Item.Name != "db" {
			return deployer.Progress{Done: true}, nil
		}
		now := &corev1.Secret{}
		err := w.Client().Get(ctx, key, now)
		waiting := decision.Reason{Code: lsv1alpha1.ReasonWaitingForReadiness, Message: "waiting for another credential"}
		return deployer.Progress{Done: now.Annotations["rotated"] != "", Waiting: waiting, Recheck: time.Hour}, err
	}}
	w.Create(secret, testkit.Target(w.Namespace, "place").Secret("credential", "kubeconfig").Build())
	w.run(d, deployer.Options{
		Workers:  1,
		Clusters: target.NewClusters(target.Options{Host: w.Client(), Dialer: dial.Rules{AllowLoopback: true}}),
	})
	item := w.waits(w.item("db", on("place")), lsv1alpha1.ReasonWaitingForReadiness)
	// With a single worker, the events of the item's own writes have been handled once a later item has finished.
	w.succeeds(w.item("later", on("place")))
	secret.Annotations = map[string]string{"rotated": "yes"}
	if err := w.Client().Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	w.succeeds(item)
}

func checkTarget(work deployer.Work, name string) error {
	if work.Target == nil || work.Target.Name != name || work.Cluster != nil {
		return failure.Terminalf(failure.Details{}, "the Target is %v, the cluster %v", work.Target, work.Cluster)
	}
	return nil
}

func TestTwoDeployersOfOneTypeShareTheWork(t *testing.T) {
	w := newWorld(t)
	north, south := &scripted{}, &scripted{}
	w.run(north, deployer.Options{Identity: "north", TargetSelectors: selectors(t, "labels=side=north")})
	w.run(south, deployer.Options{Identity: "south", TargetSelectors: selectors(t, "targets="+w.Namespace+"/s1", "labels=side=south")})
	testkit.Create(
		t,
		w.APIServer,
		testkit.Target(w.Namespace, "n1").
			Label("side", "north").
			Build(),
		testkit.Target(w.Namespace, "s1").Build(),
		testkit.Target(w.Namespace, "none").Build(),
	)
	nobody := w.item("nobody", on("none"))
	homeless := w.item("homeless")
	late := w.item("late", on("s2"))
	if got := w.succeeds(w.item("a", on("n1"))).Status.Deployer.Identity; got != "north" {
		t.Errorf("a was deployed by %s", got)
	}
	if got := w.succeeds(w.item("b", on("s1"))).Status.Deployer.Identity; got != "south" {
		t.Errorf("b was deployed by %s", got)
	}
	w.Create(testkit.Target(w.Namespace, "s2").Label("side", "south").Build())
	if got := w.succeeds(late).Status.Deployer.Identity; got != "south" {
		t.Errorf("late was deployed by %s", got)
	}
	for _, item := range []*lsv1alpha1.DeployItem{nobody, homeless} {
		if now, err := w.live(item.Name); err != nil || now.ResourceVersion != item.ResourceVersion {
			t.Errorf("%s, which nobody is responsible for, was touched: %v %+v", item.Name, err, now.Status)
		}
	}
}

func selectors(t *testing.T, texts ...string) []deployitem.TargetSelector {
	t.Helper()
	var all []deployitem.TargetSelector
	for _, text := range texts {
		s, err := deployitem.ParseTargetSelector(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}
