// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/failure"
)

func TestAStatusLagsTwoSecondsAtMost(t *testing.T) {
	var l lags
	req, start := reconcile.Request{}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if left := l.left(req, start); left != maxLag {
		t.Errorf("at first it may lag %v", left)
	}
	if left := l.left(req, start.Add(maxLag-time.Millisecond)); left != time.Millisecond {
		t.Errorf("later it may lag %v", left)
	}
	if left := l.left(req, start.Add(maxLag)); left > 0 {
		t.Errorf("after that it may lag %v", left)
	}
	l.end(req)
	if left := l.left(req, start.Add(time.Hour)); left != maxLag {
		t.Errorf("the next one may lag %v", left)
	}
}

// An object that waits for an event is rechecked at growing intervals, and another wait starts over.
func TestJOB24_WaitsAreRememberedUntilTheyEnd(t *testing.T) {
	var w waits
	req, start := reconcile.Request{}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, now := range []time.Time{start, start.Add(time.Minute), start.Add(time.Hour)} {
		if since := w.since(req, now); since != start {
			t.Errorf("at %s it waits since %s", now, since)
		}
	}
	w.end(req)
	if since := w.since(req, start.Add(time.Hour)); since != start.Add(time.Hour) {
		t.Errorf("the next wait is said to have begun at %s", since)
	}
}

func news(err error, phases ...lsv1alpha1.Phase) News[*lsv1alpha1.Installation, lsv1alpha1.Phase] {
	n := News[*lsv1alpha1.Installation, lsv1alpha1.Phase]{Object: &lsv1alpha1.Installation{}, Err: err}
	n.Object.UID = "uid"
	for _, phase := range phases {
		n.Transitions = append(n.Transitions, Transition[lsv1alpha1.Phase]{To: phase, Why: decision.Reason{Message: "because"}})
	}
	return n
}

// said is news that is announced at a time after the start of a test.
type said struct {
	at   time.Duration
	news News[*lsv1alpha1.Installation, lsv1alpha1.Phase]
}

// The time is that of a synctest bubble: it advances while all goroutines wait, here for announcements.
func TestOneEventForARunThatEndsSoon(t *testing.T) {
	terminal := failure.Terminalf(failure.Details{}, "broken")
	missing := failure.NewRetryable(failure.Details{Reason: "ImportNotFound"}, errors.New("no such import"))
	for name, c := range map[string]struct {
		say  []said
		want []string
	}{
		"start and end together": {
			say:  []said{{0, news(nil, "Init", "Progressing")}, {time.Second, news(nil, "Completing", "Succeeded")}},
			want: []string{"Normal Succeeded Init, Progressing, Completing, Succeeded: because"},
		},
		"start and end apart": {
			say:  []said{{0, news(nil, "Init", "Progressing")}, {time.Minute, news(nil, "Completing", "Succeeded")}},
			want: []string{"Normal Progressing Init, Progressing: because", "Normal Succeeded Completing, Succeeded: because"},
		},
		"a failure at once": {
			say:  []said{{0, news(terminal, "Init", "Failed")}, {0, news(nil, "Init")}, {0, news(errors.New("no answer"), "Progressing")}},
			want: []string{"Warning Failed Init, Failed: broken", "Normal Progressing Init, Progressing: no answer"},
		},
		"something that is missing": {
			say:  []said{{0, news(missing, "Init")}, {0, news(&failure.Wait{Reason: "WaitingForImports", For: "a sibling"}, "Init")}},
			want: []string{"Warning Init Init: no such import", "Normal Init Init: waiting for a sibling"},
		},
		"a failure without an error": {
			say:  []said{{0, news(nil, "Progressing", "Failed")}, {0, news(nil, "Deleting", "DeleteFailed")}},
			want: []string{"Warning Failed Progressing, Failed: because", "Warning DeleteFailed Deleting, DeleteFailed: because"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { announced(t, c.say, c.want) })
		})
	}
}

// announced checks which events follow from the news, and that there are no others.
func announced(t *testing.T, say []said, want []string) {
	recorder := events.NewFakeRecorder(10)
	announce := EventsTo[*lsv1alpha1.Installation, lsv1alpha1.Phase](recorder)
	for _, word := range say {
		if word.at == 0 {
			announce(t.Context(), word.news)
		} else {
			time.AfterFunc(word.at, func() { announce(t.Context(), word.news) })
		}
	}
	for _, text := range want {
		if got := <-recorder.Events; got != text {
			t.Errorf("told %q, want %q", got, text)
		}
	}
	select {
	case text := <-recorder.Events:
		t.Errorf("told too much: %q", text)
	case <-time.After(time.Hour): //lint:allow patience the time is that of a synctest bubble
	}
}
