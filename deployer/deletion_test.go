// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/testkit"
)

func (w *world) exports(item *lsv1alpha1.DeployItem) (map[string]any, *corev1.Secret) {
	w.Helper()
	ref := item.Status.ExportReference
	if ref == nil {
		w.Fatalf("%s has no exports: %+v", item.Name, item.Status)
	}
	secret := &corev1.Secret{}
	if err := w.Client().Get(w.Context(), client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, secret); err != nil {
		w.Fatal(err)
	}
	var exports map[string]any
	if err := json.Unmarshal(secret.Data[lsv1alpha1.ExportSecretKey], &exports); err != nil {
		w.Fatal(err)
	}
	return exports, secret
}

func TestExportsLiveAndDieWithTheItem(t *testing.T) {
	w := newWorld(t)
	d := &scripted{deploy: func(_ context.Context, work deployer.Work) (deployer.Progress, error) {
		p := deployer.Progress{Done: true}
		if work.Item.Status.JobID != "third" {
			p.Exports = map[string]any{"job": work.Item.Status.JobID}
		}
		return p, nil
	}}
	w.run(d, deployer.Options{})
	item := w.succeeds(w.item("db"))
	exports, secret := w.exports(item)
	if diff := cmp.Diff(map[string]any{"job": "first"}, exports); diff != "" || secret.Name != "db-export" {
		t.Errorf("Secret %s: %s", secret.Name, diff)
	}
	if len(secret.OwnerReferences) != 1 || secret.OwnerReferences[0].UID != item.UID {
		t.Errorf("it is owned by %v", secret.OwnerReferences)
	}
	w.begin(item, "second")
	if exports, _ := w.exports(w.succeeds(item)); exports["job"] != "second" {
		t.Errorf("after the second job: %v", exports)
	}
	w.begin(item, "third")
	if item = w.succeeds(item); item.Status.ExportReference != nil {
		t.Errorf("without exports: %v", item.Status.ExportReference)
	}
	testkit.EventuallyGone(t, w.APIServer, secret)
	w.begin(item, "fourth")
	item = w.succeeds(item)
	_, secret = w.exports(item)
	w.delete(item, "last")
	testkit.EventuallyGone(t, w.APIServer, item)
	testkit.EventuallyGone(t, w.APIServer, secret)
}

func TestASecretOfSomebodyElseIsNotOverwritten(t *testing.T) {
	w := newWorld(t)
	own := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "db-export"},
		StringData: map[string]string{"mine": "yes"},
	}
	w.Create(own)
	w.run(&scripted{deploy: func(context.Context, deployer.Work) (deployer.Progress, error) {
		return deployer.Progress{Done: true, Exports: map[string]any{"a": 1}}, nil
	}}, deployer.Options{})
	item := w.fails(w.item("db"))
	if e := item.Status.LastError; !strings.Contains(e.Message, "db-export exists and does not belong") ||
		!slices.Equal(e.Codes, []lsv1alpha1.ErrorCode{lsv1alpha1.ErrorConfigurationProblem}) {
		t.Errorf("last error %+v", e)
	}
	now := &corev1.Secret{}
	if err := w.Client().Get(t.Context(), client.ObjectKeyFromObject(own), now); err != nil || now.ResourceVersion != own.ResourceVersion {
		t.Errorf("it was changed: %v", err)
	}
}

func TestDeletionCallsTheDeployerAndLetsGoLast(t *testing.T) {
	w := newWorld(t)
	gone := make(chan func(), 1)
	finished := false
	d := &scripted{remove: func(_ context.Context, work deployer.Work) (deployer.Progress, error) {
		if work.Item.Status.Phase != lsv1alpha1.PhaseDeleting || !slices.Contains(work.Item.Finalizers, lsv1alpha1.Finalizer) {
			return deployer.Progress{}, failure.Terminalf(
				failure.Details{},
				"phase %s, finalizers %v",
				work.Item.Status.Phase,
				work.Item.Finalizers,
			)
		}
		if !finished {
			finished = true
			gone <- work.Wake
			return deployer.Progress{}, nil
		}
		return deployer.Progress{Done: true}, nil
	}}
	w.run(d, deployer.Options{})
	item := w.succeeds(w.item("db"))
	w.delete(item, "second")
	wake := <-gone
	item = w.waits(item, lsv1alpha1.ReasonWaitingForReadiness)
	if item.Status.Phase != lsv1alpha1.PhaseDeleting || item.Status.JobIDFinished != "first" {
		t.Errorf("while it waits: %+v", item.Status)
	}
	wake()
	testkit.EventuallyGone(t, w.APIServer, item)
	if d.counted("delete db") < 2 { // A stale cache may lead to one more.
		t.Errorf("deleted %d times", d.counted("delete db"))
	}
}

func TestADeletionThatFailsEndsTheJob(t *testing.T) {
	w := newWorld(t)
	d := &scripted{remove: func(_ context.Context, work deployer.Work) (deployer.Progress, error) {
		if work.Item.Status.JobID == "second" {
			return deployer.Progress{}, failure.Terminalf(failure.Details{Operation: "Delete", Reason: "Stuck"}, "stuck")
		}
		return deployer.Progress{Done: true}, nil
	}}
	w.run(d, deployer.Options{})
	item := w.succeeds(w.item("db"))
	w.delete(item, "second")
	item = testkit.EventuallyFinished(t, w.APIServer, item, lsv1alpha1.PhaseDeleteFailed)
	if item.Status.LastError.Reason != "Stuck" {
		t.Errorf("last error %+v", item.Status.LastError)
	}
	w.begin(item, "third")
	testkit.EventuallyGone(t, w.APIServer, item)
}

// A deletion requested while a job runs waits for the end of that job.
func TestJOB40_ItemFinishesItsJobBeforeItIsDeleted(t *testing.T) {
	w := newWorld(t)
	began, goOn := make(chan struct{}), make(chan struct{})
	begin := sync.OnceFunc(func() { close(began) }) // The deletion changes the item, so the call is repeated.
	d := &scripted{deploy: func(context.Context, deployer.Work) (deployer.Progress, error) {
		begin()
		<-goOn
		return deployer.Progress{Done: true}, nil
	}}
	w.run(d, deployer.Options{})
	item := w.item("db")
	<-began
	if err := w.Client().Delete(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	item = w.succeeds(item)
	if d.counted("delete db") != 0 || item.DeletionTimestamp.IsZero() {
		t.Errorf("deleted %d times before the job was over", d.counted("delete db"))
	}
	w.begin(item, "second")
	testkit.EventuallyGone(t, w.APIServer, item)
}

func TestWhatNeverTouchedItsTargetGoesWithoutIt(t *testing.T) {
	w := newWorld(t)
	d := &scripted{}
	w.run(d, deployer.Options{})
	never := w.waits(w.item("never", on("nowhere")), lsv1alpha1.ReasonNoTargetFound)
	w.SetStatus(never, map[string]any{"phase": lsv1alpha1.PhaseFailed, "jobIDFinished": "first"})
	target := testkit.Target(w.Namespace, "soon-gone").Build()
	w.Create(target)
	kept := w.succeeds(w.item("kept", on("soon-gone")))
	skipped := w.succeeds(w.item("skipped", on("soon-gone"), func(i *lsv1alpha1.DeployItem) {
		i.Spec.OnDelete = &lsv1alpha1.OnDeleteConfig{SkipUninstallIfClusterRemoved: true}
	}))
	if err := w.Client().Delete(t.Context(), target); err != nil {
		t.Fatal(err)
	}
	for _, item := range []*lsv1alpha1.DeployItem{never, skipped, kept} {
		w.delete(item, "second")
	}
	testkit.EventuallyGone(t, w.APIServer, never)
	testkit.EventuallyGone(t, w.APIServer, skipped)
	w.waits(kept, lsv1alpha1.ReasonNoTargetFound)
	w.Create(testkit.Target(w.Namespace, "soon-gone").Build())
	testkit.EventuallyGone(t, w.APIServer, kept)
	if d.counted("delete kept") != 1 || d.counted("delete never")+d.counted("delete skipped") != 0 {
		t.Errorf("calls: %v", d.calls)
	}
}

// The watchdog, which does not run here, releases such items.
func TestJOB60_DeployerLeavesItemsAloneThatAreDeletedWithoutUninstall(t *testing.T) {
	w := newWorld(t)
	d := &scripted{}
	w.run(d, deployer.Options{})
	item := w.succeeds(w.item("db"))
	item.Annotations = map[string]string{lsv1alpha1.DeleteWithoutUninstallAnnotation: "true"}
	if err := w.Client().Update(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	w.delete(item, "second")
	w.succeeds(w.item("later"))
	now, err := w.live("db")
	if err != nil || now.ResourceVersion != item.ResourceVersion || d.counted("delete db") != 0 {
		t.Errorf("it was touched: %v, deleted %d times, %+v", err, d.counted("delete db"), now.Status)
	}
}
