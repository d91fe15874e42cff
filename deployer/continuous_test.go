// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/testkit"
)

// continuous creates a deploy item of the continuous flow, without starting anything.
func (w *world) continuous(name string) *lsv1alpha1.DeployItem {
	w.Helper()
	item := testkit.DeployItem(w.Namespace, name).Config(itemType, map[string]any{"apiVersion": "example.org/v1", "kind": "Config"}).Build()
	item.Spec.Flow = lsv1alpha1.FlowContinuous
	w.Create(item)
	return item
}

// upToDate waits until an item has finished with its current spec.
func (w *world) upToDate(item *lsv1alpha1.DeployItem, phase lsv1alpha1.Phase) *lsv1alpha1.DeployItem {
	w.Helper()
	return testkit.Eventually(w.T, w.APIServer, item, testkit.Is("up to date as "+string(phase), func(i *lsv1alpha1.DeployItem) bool {
		return i.Status.Phase == phase && i.Status.ObservedGeneration == i.Generation && i.Annotations[lsv1alpha1.OperationAnnotation] == ""
	}))
}

func (w *world) patch(item *lsv1alpha1.DeployItem, patch string) {
	w.Helper()
	if err := w.Client().Patch(w.Context(), item, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		w.Fatal(err)
	}
}

func TestCON60_ADeployerFollowsTheSpecAndTheAnnotation(t *testing.T) {
	w := newWorld(t)
	recorder := testkit.Record(t, w.APIServer, w.Namespace, testkit.Groups("landscaper.gardener.cloud"))
	s := &scripted{}
	w.run(s, deployer.Options{})
	item := w.upToDate(w.continuous("db"), lsv1alpha1.PhaseSucceeded)
	if item.Status.JobID != "" || item.Status.JobIDFinished != "" {
		t.Errorf("it has a job: %+v", item.Status.RunStatus)
	}
	recorder.Quiet(t, time.Second)
	w.counts(s, "deploy db", 1)

	w.patch(item, `{"spec":{"timeout":"3m"}}`)
	item = w.upToDate(item, lsv1alpha1.PhaseSucceeded)
	w.counts(s, "deploy db", 2)
	w.patch(item, `{"metadata":{"annotations":{"landscaper.gardener.cloud/operation":"reconcile"}}}`)
	item = w.upToDate(item, lsv1alpha1.PhaseSucceeded)
	recorder.Quiet(t, time.Second)
	w.counts(s, "deploy db", 3)

	if err := w.Client().Delete(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	testkit.EventuallyGone(t, w.APIServer, item)
	w.counts(s, "delete db", 1)
	for _, r := range recorder.Of(item) {
		if phase := r.Field("status.phase"); phase == string(lsv1alpha1.PhaseInit) || phase == string(lsv1alpha1.PhaseInitDelete) {
			t.Errorf("phase %s was stored, which is passed through", phase)
		}
	}
}

func (w *world) counts(s *scripted, call string, want int) {
	w.Helper()
	if got := s.counted(call); got != want {
		w.Errorf("%s: called %d times, want %d", call, got, want)
	}
}

// A new spec ends a call that works on the old one.
func TestCON60_ANewSpecOvertakesTheOldOne(t *testing.T) {
	w := newWorld(t)
	began := make(chan struct{})
	s := &scripted{deploy: func(ctx context.Context, work deployer.Work) (deployer.Progress, error) {
		if work.Item.Spec.Timeout == nil {
			close(began)
			<-ctx.Done()
			return deployer.Progress{}, ctx.Err()
		}
		return deployer.Progress{Done: true}, nil
	}}
	w.run(s, deployer.Options{})
	item := w.continuous("db")
	<-began
	w.patch(item, `{"spec":{"timeout":"3m"}}`)
	w.upToDate(item, lsv1alpha1.PhaseSucceeded)
}

// What was deployed is repaired in the continuous flow as well, and the repair is reported once.
func TestCON60_DriftInTheTargetIsRepairedAndReported(t *testing.T) {
	w := newWorld(t)
	recorder := testkit.Record(t, w.APIServer, w.Namespace, testkit.Groups("landscaper.gardener.cloud"))
	c := &caring{script: []func(deployer.Work) (deployer.Progress, error){fine, put("north"), fine}}
	w.run(c, deployer.Options{})
	item := w.continuous("db")
	testkit.Eventually(t, w.APIServer, item, testkit.Is("repaired", func(i *lsv1alpha1.DeployItem) bool {
		return i.Status.ProviderStatus != nil && strings.Contains(string(i.Status.ProviderStatus.Raw), "north")
	}))
	w.tells(item, "Repaired", "put north right")
	recorder.Quiet(t, time.Second)
	if got := c.repairs(); !slices.Equal(got, slices.Repeat([]string{" Succeeded"}, 3)) {
		t.Errorf("repairs: %q", got)
	}
	w.counts(&c.scripted, "deploy db", 1)
}
