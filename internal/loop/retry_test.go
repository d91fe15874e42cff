// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"espalier.dev/internal/failure"
	"espalier.dev/internal/run"
)

// outage is an error that knows when a retry makes sense.
type outage struct{ next time.Time }

func (outage) Error() string            { return "no answer" }
func (o outage) NextAttempt() time.Time { return o.next }

// A message that names the next attempt is true only if the attempt is made then, however many have failed before.
func TestJOB30_ARetryComesWhenTheErrorSaysSo(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := &Loop[*corev1.ConfigMap, int, string, string]{Name: "thing", Clock: clocktesting.NewFakePassiveClock(now)}
	wrapped := func(next time.Time) error {
		return errors.Join(
			errors.New("another"),
			fmt.Errorf("deploy: %w", failure.NewRetryable(failure.Details{Reason: "TargetUnreachable"}, outage{next})),
		)
	}
	for name, c := range map[string]struct {
		err    error
		after  time.Duration
		failed bool
	}{
		"in a while":  {err: wrapped(now.Add(17 * time.Second)), after: 17 * time.Second},
		"now":         {err: wrapped(now), after: retryBase},
		"in the past": {err: wrapped(now.Add(-time.Hour)), after: retryBase},
		"whenever":    {err: errors.New("some other error"), failed: true},
	} {
		for range 20 {
			result, err := l.concludeError(t.Context(), reconcile.Request{}, &pass[*corev1.ConfigMap, int, string, string]{loop: l, err: c.err})
			if result.RequeueAfter != c.after || (err != nil) != c.failed {
				t.Fatalf("%s: again in %v, error %v", name, result.RequeueAfter, err)
			}
		}
	}
}

// An error that is a wait is rechecked at growing intervals, in case no event arrives, and no later than the end of the wait.
func TestJOB24_RechecksOfWaitingErrorsGrow(t *testing.T) {
	begun := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clock := clocktesting.NewFakePassiveClock(begun)
	l := &Loop[*corev1.ConfigMap, int, string, string]{Name: "thing", Clock: clock}
	recheck := func(name string, waited time.Duration, wait failure.Wait) time.Duration {
		clock.SetTime(begun.Add(waited))
		wait.For = "approval"
		result, err := l.concludeError(t.Context(), request(name), &pass[*corev1.ConfigMap, int, string, string]{loop: l, err: &wait})
		if err != nil {
			t.Fatal(err)
		}
		return result.RequeueAfter
	}
	for _, c := range []struct{ waited, again time.Duration }{
		{0, run.MinRecheck}, {run.MinRecheck, run.MinRecheck}, {5 * time.Minute, 5 * time.Minute}, {20 * time.Minute, 20 * time.Minute},
		{24 * time.Hour, run.MaxRecheck},
	} {
		for name, wait := range map[string]failure.Wait{"endless": {}, "long": {Until: begun.Add(48 * time.Hour)}} {
			if again := recheck(name, c.waited, wait); again != c.again {
				t.Errorf("%s: after %s it is rechecked after %s, want %s", name, c.waited, again, c.again)
			}
		}
		ending := failure.Wait{Until: begun.Add(c.waited + 30*time.Second)}
		if again := recheck("ending", c.waited, ending); again != 30*time.Second {
			t.Errorf("after %s, a wait that ends in 30s is rechecked after %s", c.waited, again)
		}
	}
	if again := recheck("overdue", time.Hour, failure.Wait{Until: begun}); again != time.Millisecond {
		t.Errorf("a wait that has ended is rechecked after %s", again)
	}
	if again := recheck("another", 24*time.Hour, failure.Wait{}); again != run.MinRecheck {
		t.Errorf("another object is rechecked after %s", again)
	}
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "garden", Name: name}}
}
