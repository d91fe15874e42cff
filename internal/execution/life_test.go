// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/run"
	"espalier.dev/internal/testkit/share"
)

// runs is the number of random runs that each property is tested with.
const runs = 150

// randomItems returns up to seven items in which each may depend on those before it.
func (w *world) randomItems() []lsv1alpha1.DeployItemTemplate {
	items := make([]lsv1alpha1.DeployItemTemplate, w.random.IntN(8))
	for i := range items {
		items[i] = template(fmt.Sprintf("i%d", w.random.IntN(3)+3*i))
		for _, earlier := range items[:i] {
			if w.random.IntN(3) == 0 {
				items[i].DependsOn = append(items[i].DependsOn, earlier.Name)
			}
		}
		if w.random.IntN(4) == 0 {
			items[i].Type = lsv1alpha1.DeployItemTypeManifest
		}
	}
	w.random.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	return items
}

// randomWill makes some items fail, or block their deletion.
func (w *world) randomWill(will map[string]bool) {
	clear(will)
	if w.random.IntN(2) == 0 {
		return
	}
	for i := range 24 {
		will[fmt.Sprintf("i%d", i)] = w.random.IntN(6) == 0
	}
}

func (w *world) edit() {
	w.execution.Spec.DeployItems = w.randomItems()
	w.execution.Generation++
}

func (w *world) fails() bool {
	return slices.ContainsFunc(w.execution.Spec.DeployItems, func(i lsv1alpha1.DeployItemTemplate) bool { return w.outcomes[i.Name] })
}

// The same execution lives through several jobs with changing items, failures, crashes and stale views.
func TestJOB04_JOB70_JOB71_RandomLives(t *testing.T) {
	cases := share.Of()
	for seed := range uint64(runs) {
		if !cases.Try() {
			continue
		}
		w := newWorld(seed, newExecution())
		for n := range 4 {
			w.randomWill(w.outcomes)
			w.edit()
			w.request(fmt.Sprintf("job-%d", n))
			w.settle()
			w.checkJob()
		}
		w.report(t, seed)
	}
}

func (w *world) checkJob() {
	status, want := w.execution.Status, lsv1alpha1.PhaseSucceeded
	if w.fails() {
		want = lsv1alpha1.PhaseFailed
	}
	if status.Phase != want || status.ObservedGeneration != w.execution.Generation {
		w.violated(
			"phase %s, want %s; observed generation %d of %d; last error %+v",
			status.Phase,
			want,
			status.ObservedGeneration,
			w.execution.Generation,
			status.LastError,
		)
	}
	if len(w.items()) != len(w.execution.Spec.DeployItems) {
		w.violated("%d objects of %d items", len(w.items()), len(w.execution.Spec.DeployItems))
	}
	for _, item := range w.execution.Spec.DeployItems {
		if object := w.items()[execution.ItemName("app", item.Name)]; object == nil || object.Spec.Type != item.Type {
			w.violated("the object of %s is %+v, want type %s", item.Name, object, item.Type)
		}
	}
	started := slices.Sorted(slices.Values(w.started[status.JobID]))
	if len(slices.Compact(slices.Clone(started))) != len(started) {
		w.violated("started more than once: %v", started)
	}
	if status.Phase == lsv1alpha1.PhaseSucceeded && len(started) != len(w.execution.Spec.DeployItems) {
		w.violated("succeeded, having started %v", started)
	}
}

func TestJOB72_JOB44_RandomDeletions(t *testing.T) {
	for seed := range uint64(runs) {
		w := newWorld(seed, newExecution())
		w.edit()
		w.request("job")
		w.settle()
		w.randomWill(w.failsDelete)
		w.remove("job-of-deletion")
		w.settle()
		if w.execution != nil {
			if status := w.execution.Status; status.Phase != lsv1alpha1.PhaseDeleteFailed || len(w.items()) == 0 {
				w.violated("phase %s with %d objects left", status.Phase, len(w.items()))
			}
			clear(w.failsDelete)
			w.request("second-attempt")
			w.settle()
		}
		if w.execution != nil || len(w.items()) > 0 {
			w.violated("something is left: %d items", len(w.items()))
		}
		w.report(t, seed)
	}
}

func (w *world) remove(id string) {
	w.markDeleted()
	w.request(id)
}

// markDeleted requests the deletion of the execution. Without its finalizer, which comes before everything else, it is gone.
func (w *world) markDeleted() {
	if len(w.execution.Finalizers) == 0 {
		w.release()
		return
	}
	at := metav1.NewTime(w.now)
	w.execution.DeletionTimestamp = &at
}

// A deletion in the middle of a job that has started something lets the job finish.
func TestJOB40_RandomDeletionsDuringAJob(t *testing.T) {
	for seed := range uint64(runs) {
		w := amidAJob(seed)
		began := len(w.started["job"]) > 0
		w.markDeleted()
		w.settle()
		if began {
			w.checkJob()
			w.request("job-of-deletion")
			w.settle()
		}
		if w.execution != nil && (began || !w.execution.Status.Phase.IsCompleted()) {
			w.violated("it is left in phase %s", w.execution.Status.Phase)
		}
		w.report(t, seed)
	}
}

// A deletion without uninstalling does not wait for a deployer.
func TestJOB46_JOB60_GivingUpEndsAJobAtOnce(t *testing.T) {
	for seed := range uint64(runs) {
		w := amidAJob(seed)
		running := !w.execution.Status.IsFinished()
		w.execution.Annotations[run.DeletionAnnotation] = string(w.execution.UID)
		w.execution.Annotations[lsv1alpha1.DeleteWithoutUninstallAnnotation] = "true"
		w.asleep = true
		w.settle()
		if running {
			w.checkInterrupted()
		}
		w.report(t, seed)
	}
}

func TestJOB50_JOB51_RandomInterrupts(t *testing.T) {
	for seed := range uint64(runs) {
		w := amidAJob(seed)
		running := !w.execution.Status.IsFinished()
		w.execution.Annotations[lsv1alpha1.OperationAnnotation] = string(lsv1alpha1.OperationInterrupt)
		w.settle()
		if _, asked := w.execution.Annotations[lsv1alpha1.OperationAnnotation]; asked {
			w.violated("the request is still there")
		}
		if running {
			w.checkInterrupted()
		}
		w.request("next-job")
		w.settle()
		w.checkJob()
		w.report(t, seed)
	}
}

// amidAJob is a world with a job at a random point between its start and its end.
func amidAJob(seed uint64) *world {
	w := newWorld(seed, newExecution())
	w.edit()
	w.request("job")
	for range w.random.IntN(30) {
		w.disturb()
	}
	return w
}

func (w *world) disturb() {
	switch w.random.IntN(3) {
	case 0:
		w.catchUp(false)
	case 1:
		w.deploy()
	default:
		w.pass(true)
	}
}

func (w *world) checkInterrupted() {
	status := w.execution.Status
	if status.Phase != lsv1alpha1.PhaseFailed || status.LastError == nil || status.LastError.Reason != lsv1alpha1.ReasonInterrupted {
		w.violated("phase %s, last error %+v", status.Phase, status.LastError)
	}
	for _, item := range w.items() {
		if item.Status.JobIDFinished != status.JobID {
			w.violated("%s has not finished the interrupted job", item.Name)
		}
	}
}

func (w *world) report(t *testing.T, seed uint64) {
	t.Helper()
	if len(w.violations) > 0 {
		t.Fatalf("world %d: %v", seed, errors.Join(w.violations...))
	}
}
