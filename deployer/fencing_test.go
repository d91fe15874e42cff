// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/deployitem"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/testkit"
)

// An interrupt, written as the controller of executions writes it, during a deployer call.
func TestJOB50_DeployerDoesNotOverwriteAnInterrupt(t *testing.T) {
	for name, lastWord := range map[string]func(context.Context) (deployer.Progress, error){
		"it succeeds anyway": func(context.Context) (deployer.Progress, error) {
			return deployer.Progress{Done: true, ProviderStatus: remembered("too late")}, nil
		},
		"it fails": func(ctx context.Context) (deployer.Progress, error) { return deployer.Progress{}, ctx.Err() },
		"it fails for good": func(context.Context) (deployer.Progress, error) {
			return deployer.Progress{}, failure.Terminalf(failure.Details{}, "no")
		},
		"it waits for more": func(context.Context) (deployer.Progress, error) { return deployer.Progress{}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			recorder := testkit.Record(t, w.APIServer, w.Namespace, testkit.Groups("landscaper.gardener.cloud"))
			began := make(chan string, 2)
			d := &scripted{deploy: func(ctx context.Context, work deployer.Work) (deployer.Progress, error) {
				if work.Item.Name != "db" {
					return deployer.Progress{Done: true}, nil
				}
				began <- work.Item.Status.JobID
				<-ctx.Done() // Nothing but the interrupt ends it.
				return lastWord(ctx)
			}}
			w.run(d, deployer.Options{CallTimeout: time.Hour})
			item := w.item("db", func(i *lsv1alpha1.DeployItem) { i.Spec.Timeout = new(lsv1alpha1.NoDuration) })
			<-began
			w.SetStatus(item, map[string]any{
				"phase":         lsv1alpha1.PhaseFailed,
				"jobIDFinished": "first",
				"lastError": lsv1alpha1.Error{
					Operation:          "Interrupt",
					Reason:             lsv1alpha1.ReasonInterrupted,
					Message:            "interrupted",
					LastTransitionTime: metav1.Now(),
					LastUpdateTime:     metav1.Now(),
				},
			})
			w.succeeds(w.item("later"))
			recorder.Quiet(t, time.Second)
			now, err := w.live("db")
			if err != nil {
				t.Fatal(err)
			}
			if now.ResourceVersion != item.ResourceVersion {
				t.Errorf("the deployer had the last word: %+v", now.Status)
			}
			w.begin(now, "second")
			if job := <-began; job != "second" {
				t.Errorf("after the interrupt, the deployer worked on job %s", job)
			}
			w.SetStatus(now, map[string]any{"phase": lsv1alpha1.PhaseFailed, "jobIDFinished": "second"})
		})
	}
}

func TestAnItemThatVanishesEndsTheCall(t *testing.T) {
	w := newWorld(t)
	began, ended := make(chan struct{}), make(chan error, 1)
	d := &scripted{deploy: func(ctx context.Context, _ deployer.Work) (deployer.Progress, error) {
		close(began)
		<-ctx.Done()
		ended <- ctx.Err()
		return deployer.Progress{}, ctx.Err()
	}}
	w.run(d, deployer.Options{CallTimeout: time.Hour})
	item := w.item("db", func(i *lsv1alpha1.DeployItem) { i.Spec.Timeout = new(lsv1alpha1.NoDuration) })
	<-began
	now, err := w.live("db")
	if err != nil {
		t.Fatal(err)
	}
	now.Finalizers = nil
	if err := w.Client().Update(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	if err := w.Client().Delete(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
}

func TestACallHasALimit(t *testing.T) {
	w := newWorld(t)
	deadlines := make(chan time.Duration, 8)
	d := &scripted{deploy: func(ctx context.Context, work deployer.Work) (deployer.Progress, error) {
		deadline, _ := ctx.Deadline()
		deadlines <- time.Until(deadline)
		if work.Item.Name == "stuck" && !work.Deadline.IsZero() {
			return deployer.Progress{}, failure.Terminalf(failure.Details{}, "there is a deadline: %s", work.Deadline)
		}
		return deployer.Progress{Done: true}, nil
	}}
	w.run(d, deployer.Options{})
	w.succeeds(w.item("stuck", func(i *lsv1alpha1.DeployItem) { i.Spec.Timeout = new(lsv1alpha1.NoDuration) }))
	if limit := <-deadlines; limit <= time.Minute || limit > 2*time.Minute {
		t.Errorf("without a limit of its own, a call may take %s", limit)
	}
	w.succeeds(w.item("short", func(i *lsv1alpha1.DeployItem) { i.Spec.Timeout = new(lsv1alpha1.Duration("50s")) }))
	if limit := <-deadlines; limit > 45*time.Second {
		t.Errorf("a call for an item with 50 seconds left may take %s, and cannot tell in time what it failed with", limit)
	}
}

// A call that only the item's deadline cuts off does not hide why an earlier call failed.
func TestACallThatIsCutOffKeepsTheCause(t *testing.T) {
	w := newWorld(t)
	clock := clocktesting.NewFakePassiveClock(time.Now().Truncate(time.Second))
	almost := clock.Now().Add(deployitem.DefaultProgressTimeout - 2*time.Second)
	d := &scripted{deploy: func(ctx context.Context, work deployer.Work) (deployer.Progress, error) {
		if work.Now.Before(almost) {
			clock.SetTime(almost)
			return deployer.Progress{}, failure.NewRetryable(
				failure.Details{Operation: "Install", Reason: "HookFailed", Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)}},
				errors.New("install the release: the hook has failed"),
			)
		}
		<-ctx.Done()
		clock.SetTime(work.Now.Add(100 * time.Millisecond))
		return deployer.Progress{}, failure.NewRetryable(
			failure.Details{Operation: "Install", Reason: "TargetUnreachable"},
			fmt.Errorf("the cluster did not answer in time, at %s: %w", work.Now, ctx.Err()),
		)
	}}
	w.run(d, deployer.Options{Clock: clock})
	item := testkit.Eventually(t, w.APIServer, w.item("slow"), testkit.Is("cut off twice", func(i *lsv1alpha1.DeployItem) bool {
		return d.counted("deploy slow") > 3 && i.Status.LastError != nil && !strings.HasSuffix(i.Status.LastError.Message, "has failed")
	}))
	want := &lsv1alpha1.Error{Operation: "Install", Reason: "HookFailed", Codes: []lsv1alpha1.ErrorCode{lsv1alpha1.ErrorConfigurationProblem}}
	unsaid := cmpopts.IgnoreFields(lsv1alpha1.Error{}, "Message", "LastTransitionTime", "LastUpdateTime")
	if diff := cmp.Diff(want, item.Status.LastError, unsaid); diff != "" {
		t.Errorf("the last error (-want +got):\n%s", diff)
	}
	said := regexp.MustCompile(`^deploy: install the release: the hook has failed; a later attempt was cut off after 1\.\d+s$`)
	if message := item.Status.LastError.Message; !said.MatchString(message) {
		t.Errorf("the last error says %q", message)
	}
}

// When a process dies between the pick-up and the end of a job, another one continues.
func TestJOB73_UnfinishedJobIsTakenOver(t *testing.T) {
	w := newWorld(t)
	began := make(chan struct{})
	first := &scripted{
		intend: func(context.Context, deployer.Work) (runtime.Object, error) { return remembered("a"), nil },
		deploy: func(ctx context.Context, _ deployer.Work) (deployer.Progress, error) {
			close(began)
			<-ctx.Done()
			return deployer.Progress{}, ctx.Err()
		},
	}
	stop := w.run(first, deployer.Options{Identity: "one"})
	item := w.item("db")
	<-began
	stop()
	second := &scripted{}
	w.run(second, deployer.Options{Identity: "two"})
	done := w.succeeds(item)
	if second.counted("deploy db") != 1 || done.Status.LastError != nil || done.Status.JobIDFinished != "first" {
		t.Errorf("the second one was called %d times: %+v", second.counted("deploy db"), done.Status)
	}
}
