// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/failure"
)

var (
	errPlain = errors.New("connection refused")
	terminal = failure.NewTerminal(failure.Details{
		Operation: "Render",
		Reason:    "TemplateError",
		Codes:     []string{"ERR_CONFIGURATION_PROBLEM"},
	}, errors.New("line 3"))
	waiting = &failure.Wait{Reason: "WaitingForPredecessor", For: "installation default/db"}
)

func TestKindOf(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want failure.Kind
	}{
		"an unclassified error":                        {errPlain, failure.Retryable},
		"no error":                                     {nil, failure.Retryable},
		"a terminal error":                             {terminal, failure.Terminal},
		"a wrapped terminal error":                     {fmt.Errorf("init: %w", terminal), failure.Terminal},
		"a wait":                                       {waiting, failure.Waiting},
		"a wrapped wait":                               {fmt.Errorf("init: %w", waiting), failure.Waiting},
		"the outermost classification counts":          {failure.NewRetryable(failure.Details{}, terminal), failure.Retryable},
		"terminal around retryable":                    {failure.NewTerminal(failure.Details{}, errPlain), failure.Terminal},
		"a terminal one among joined errors":           {errors.Join(errPlain, waiting, terminal), failure.Terminal},
		"a retryable one among waiting ones":           {errors.Join(waiting, errPlain), failure.Retryable},
		"only waiting ones joined":                     {errors.Join(waiting, waiting), failure.Waiting},
		"two wrapped with one format":                  {fmt.Errorf("%w and %w", waiting, terminal), failure.Terminal},
		"joined errors below a wrapping":               {fmt.Errorf("act: %w", errors.Join(errPlain, terminal)), failure.Terminal},
		"an empty join is an ordinary error":           {emptyJoin{}, failure.Retryable},
		"a classification inside a join does not leak": {errors.Join(errPlain, failure.NewRetryable(failure.Details{}, terminal)), failure.Retryable},
	} {
		t.Run(name, func(t *testing.T) {
			if got := failure.KindOf(c.err); got != c.want {
				t.Errorf("KindOf(%v) = %v, want %v", c.err, got, c.want)
			}
		})
	}
}

type emptyJoin struct{}

func (emptyJoin) Error() string   { return "nothing" }
func (emptyJoin) Unwrap() []error { return nil }

func TestClassificationKeepsTheCause(t *testing.T) {
	wrapped := failure.NewTerminal(failure.Details{Reason: "R"}, fmt.Errorf("dial: %w", errPlain))
	if !errors.Is(wrapped, errPlain) {
		t.Error("the cause is not reachable by errors.Is")
	}
	if wrapped.Error() != "dial: connection refused" {
		t.Errorf("message = %q, want the cause's", wrapped.Error())
	}
}

func TestNoCauseIsNoError(t *testing.T) {
	if err := failure.NewTerminal(failure.Details{Reason: "R"}, nil); err != nil {
		t.Errorf("NewTerminal(nil) = %v", err)
	}
	if err := failure.NewRetryable(failure.Details{Reason: "R"}, nil); err != nil {
		t.Errorf("NewRetryable(nil) = %v", err)
	}
}

func TestDetailsOf(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want failure.Details
	}{
		"a wrapped classified error": {fmt.Errorf("x: %w", terminal), failure.Details{Operation: "Render", Reason: "TemplateError", Codes: []string{"ERR_CONFIGURATION_PROBLEM"}}},
		"a wait":                     {waiting, failure.Details{Reason: "WaitingForPredecessor"}},
		"any other error":            {errPlain, failure.Details{Reason: "Error"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, failure.DetailsOf(c.err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDetailsAreNotShared(t *testing.T) {
	codes := []string{"ERR_TIMEOUT"}
	err := failure.Terminalf(failure.Details{Codes: codes}, "item %s", "a")
	codes[0] = "changed"
	if got := failure.DetailsOf(err).Codes[0]; got != "ERR_TIMEOUT" {
		t.Errorf("code = %q: the error shares the caller's slice", got)
	}
}

func TestWaitSaysForWhatSinceAndUntil(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	wait := &failure.Wait{For: "approval of staging", Since: at, Until: at.Add(time.Hour)}
	want := "waiting for approval of staging since 2026-03-01T12:00:00Z until 2026-03-01T13:00:00Z"
	if wait.Error() != want {
		t.Errorf("message = %q, want %q", wait.Error(), want)
	}
}

func TestAsWait(t *testing.T) {
	if w, ok := failure.AsWait(fmt.Errorf("x: %w", waiting)); !ok || w.For != waiting.For {
		t.Errorf("AsWait(wrapped) = %v, %v", w, ok)
	}
	if _, ok := failure.AsWait(errors.Join(waiting, terminal)); ok {
		t.Error("an error that is more than a wait was taken for one")
	}
}

func TestIsObstacle(t *testing.T) {
	named := failure.NewRetryable(failure.Details{Reason: "RegistryNotFound"}, errPlain)
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"no error":                      {nil, false},
		"an error without a reason":     {errPlain, false},
		"one with an empty reason":      {failure.NewRetryable(failure.Details{}, errPlain), false},
		"one with a reason":             {named, true},
		"a wrapped one with a reason":   {fmt.Errorf("deploy: %w", named), true},
		"one that ends the run":         {terminal, false},
		"a wait":                        {waiting, false},
		"a reason beside a fatal error": {errors.Join(named, terminal), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := failure.IsObstacle(c.err); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
