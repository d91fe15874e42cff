// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"errors"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"espalier.dev/internal/failure"
)

var errDown = errors.New("connection refused")

func newBreaker() (*breaker, *clocktesting.FakePassiveClock) {
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	return &breaker{server: "https://host", clock: clock}, clock
}

func mustEnter(t *testing.T, b *breaker) *attempt {
	t.Helper()
	a, err := b.enter()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestPausesGrowUpToALimit(t *testing.T) {
	b, clock := newBreaker()
	started := clock.Now()
	for i := range 12 {
		err := mustEnter(t, b).failed(errDown)
		var unreachable *Unreachable
		if !errors.As(err, &unreachable) || !errors.Is(err, errDown) {
			t.Fatalf("error = %v", err)
		}
		if failure.KindOf(err) != failure.Retryable || failure.DetailsOf(err).Reason != ReasonUnreachable {
			t.Errorf("the error is %v with %+v", failure.KindOf(err), failure.DetailsOf(err))
		}
		pause, want := unreachable.Until.Sub(clock.Now()), min(firstPause<<i, lastPause)
		if pause < want*8/10 || pause > want || !unreachable.Since.Equal(started) {
			t.Errorf("failure %d: pause of %v since %v, want about %v since %v", i+1, pause, unreachable.Since, want, started)
		}
		clock.SetTime(unreachable.Until.Add(-time.Nanosecond))
		if _, err := b.enter(); err == nil {
			t.Fatal("a request went through during the pause")
		}
		clock.SetTime(unreachable.Until)
	}
}

func TestOneRequestTriesAfterThePause(t *testing.T) {
	b, clock := newBreaker()
	_ = mustEnter(t, b).failed(errDown)
	clock.SetTime(clock.Now().Add(time.Second))
	if err := b.open(); err != nil {
		t.Errorf("the pause is over, but: %v", err)
	}
	probe := mustEnter(t, b)
	for range 3 { // however long the first one takes
		_, err := b.enter()
		if err == nil {
			t.Fatal("a second request tries while the first has no answer yet")
		}
		for _, told := range []error{err, b.open()} {
			if next := failure.NextAttempt(told); next.Sub(clock.Now()) != probeWait {
				t.Errorf("while another one tries, a caller is told to try at %v, which is in %v", next, next.Sub(clock.Now()))
			}
		}
		clock.SetTime(clock.Now().Add(time.Minute))
	}
	probe.abandoned()
	mustEnter(t, b).succeeded()
	if b.open() != nil {
		t.Error("a success did not end it")
	}
	mustEnter(t, b)
	mustEnter(t, b)
}

func TestFailuresAtTheSameTimeCountOnce(t *testing.T) {
	b, clock := newBreaker()
	together := []*attempt{mustEnter(t, b), mustEnter(t, b), mustEnter(t, b)}
	for _, a := range together {
		if err := a.failed(errDown); failure.DetailsOf(err).Reason != ReasonUnreachable || !failure.NextAttempt(err).After(clock.Now()) {
			t.Errorf("error = %v", err)
		}
	}
	if b.failures != 1 || b.until.Sub(clock.Now()) > firstPause {
		t.Errorf("%d failures, pause of %v", b.failures, b.until.Sub(clock.Now()))
	}
}

// The documentation promises that a recovered cluster is noticed within 30 seconds.
func TestNoPauseIsLongerThanPromised(t *testing.T) {
	for failures := range 100 {
		if longest := pauseAfter(failures) + probeWait; longest > 30*time.Second {
			t.Fatalf("after %d failures a cluster that is back may be noticed after %v", failures, longest)
		}
	}
}

func TestALateSuccessEndsThePause(t *testing.T) {
	b, _ := newBreaker()
	slow, quick := mustEnter(t, b), mustEnter(t, b)
	_ = quick.failed(errDown)
	slow.succeeded()
	mustEnter(t, b)
}
