// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"espalier.dev/internal/failure"
	"espalier.dev/internal/pipeline"
)

var owner = types.NamespacedName{Namespace: "shop", Name: "cart"}

func attemptNumber(number int32) pipeline.AttemptID {
	return pipeline.AttemptID{Verb: pipeline.VerbPromote, Environment: "prod", Key: "k", Number: number}
}

func awaiting(number int32) map[pipeline.AttemptID]bool {
	return map[pipeline.AttemptID]bool{attemptNumber(number): true}
}

// awakened returns attempts and a channel with the pipelines that they woke.
func awakened(t *testing.T) (*attempts, chan types.NamespacedName) {
	t.Helper()
	woken := make(chan types.NamespacedName, 100)
	a := newAttempts(time.Minute, func(p types.NamespacedName) { woken <- p })
	t.Cleanup(a.close)
	return a, woken
}

func TestAttemptsRunOnceAndWakeTheirPipeline(t *testing.T) {
	a, woken := awakened(t)
	var runs atomic.Int32
	for range 3 {
		a.start(owner, attemptNumber(1), task{[]pool{newPool(1)}, func(context.Context) (pipeline.Result, error) {
			runs.Add(1)
			return pipeline.Result{Message: "done"}, nil
		}})
	}
	if got := <-woken; got != owner {
		t.Errorf("woke %s, want %s", got, owner)
	}
	a.start(owner, attemptNumber(1), task{nil, func(context.Context) (pipeline.Result, error) {
		runs.Add(1)
		return pipeline.Result{}, nil
	}})
	got := a.of(owner, awaiting(1))[attemptNumber(1)]
	if got.State != pipeline.AttemptDone || got.Result.Message != "done" {
		t.Errorf("the attempt is %+v", got)
	}
	a.close()
	if runs.Load() != 1 {
		t.Errorf("it ran %d times", runs.Load())
	}
}

func TestAttemptsKeepWhatWentWrong(t *testing.T) {
	a, woken := awakened(t)
	a.start(owner, attemptNumber(1), task{nil, func(context.Context) (pipeline.Result, error) {
		return pipeline.Result{}, failure.NewTerminal(failure.Details{Reason: "NoMarker"}, errors.New("no marker"))
	}})
	<-woken
	want := pipeline.AttemptError{Reason: "NoMarker", Message: "no marker", Permanent: true}
	if got := a.of(owner, awaiting(1))[attemptNumber(1)]; got.State != pipeline.AttemptFailed || got.Error != want {
		t.Errorf("the attempt is %+v", got)
	}
	a.start(owner, attemptNumber(2), task{nil, func(context.Context) (pipeline.Result, error) { panic("out of order") }})
	<-woken
	got := a.of(owner, awaiting(2))[attemptNumber(2)]
	if got.State != pipeline.AttemptFailed || !strings.Contains(got.Error.Message, "out of order") || got.Error.Permanent {
		t.Errorf("after a panic the attempt is %+v", got)
	}
}

func TestAttemptsInOnePoolTakeTurns(t *testing.T) {
	a, woken := awakened(t)
	narrow, wide := newPool(1), newPool(10)
	var inside, most atomic.Int32
	release := make(chan struct{})
	for n := range int32(5) {
		a.start(
			owner,
			pipeline.AttemptID{Environment: fmt.Sprint(n)},
			task{[]pool{narrow, wide}, func(context.Context) (pipeline.Result, error) {
				most.Store(max(most.Load(), inside.Add(1)))
				<-release
				inside.Add(-1)
				return pipeline.Result{}, nil
			}},
		)
	}
	// A task that waits for the narrow pool leaves the wide one to others.
	others := make(chan struct{})
	for n := range int32(9) {
		a.start(
			owner,
			pipeline.AttemptID{Environment: fmt.Sprint("other", n)},
			task{[]pool{wide}, func(context.Context) (pipeline.Result, error) {
				others <- struct{}{}
				return pipeline.Result{}, nil
			}},
		)
	}
	for range 9 {
		<-others
	}
	close(release)
	for range 14 {
		<-woken
	}
	if most.Load() != 1 {
		t.Errorf("%d attempts worked in the narrow pool at once", most.Load())
	}
}

func TestAttemptsOfAForgottenPipelineEnd(t *testing.T) {
	a, woken := awakened(t)
	started := make(chan struct{})
	a.start(owner, attemptNumber(1), task{nil, func(ctx context.Context) (pipeline.Result, error) {
		close(started)
		<-ctx.Done()
		return pipeline.Result{}, ctx.Err()
	}})
	<-started
	a.forget(owner)
	<-woken
	if known := a.of(owner, awaiting(1)); len(known) != 0 {
		t.Errorf("still known: %v", known)
	}
}

func TestAttemptsThatAreNotAwaitedAreForgotten(t *testing.T) {
	a, woken := awakened(t)
	for n := range int32(50) {
		a.start(owner, attemptNumber(n), task{nil, func(context.Context) (pipeline.Result, error) { return pipeline.Result{}, nil }})
		<-woken
	}
	release := make(chan struct{})
	a.start(owner, attemptNumber(50), task{nil, func(context.Context) (pipeline.Result, error) {
		<-release
		return pipeline.Result{}, nil
	}})
	known := a.of(owner, awaiting(49))
	if _, found := known[attemptNumber(49)]; len(known) != 2 || !found {
		t.Errorf("known are %v, want the one that is awaited and the one that runs", known)
	}
	close(release)
	<-woken
}
