// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"espalier.dev/internal/failure"
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
