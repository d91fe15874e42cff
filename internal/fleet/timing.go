// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
)

// timing of links and feeds; tests shorten it.
type timing struct {
	// answer is the time limit for a response of a cluster, and for the start of a watch.
	answer time.Duration
	// stable is the minimum duration of a watch after which the next one starts at once.
	stable time.Duration
	// stream is the minimum time after which a watch is renewed; it may last up to twice as long.
	stream time.Duration
	// recheck is the interval at which a link reads its objects again without a change, and polls those that cannot be watched.
	recheck time.Duration
	// absence is the interval at which a feed checks whether the namespaces of missing applications exist.
	absence time.Duration
	// pause returns how long to wait after a number of consecutive failures.
	pause func(failures int) time.Duration
}

var defaultTiming = timing{
	answer:  15 * time.Second,
	stable:  5 * time.Second,
	stream:  5 * time.Minute,
	recheck: 5 * time.Minute,
	absence: 30 * time.Second,
	pause:   pauseAfter,
}

const (
	firstPause = 500 * time.Millisecond
	lastPause  = 30 * time.Second
	// unservedPause is the maximum pause if the only problem is that a kind is not served: it may be installed at any moment.
	unservedPause = 5 * time.Second
	// streamGrace is how long a watch may exceed its time before it counts as stuck.
	streamGrace = time.Minute
)

// pauseAfter doubles from the first pause to the last one, with jitter of a fifth in either direction.
func pauseAfter(failures int) time.Duration {
	return jitter(min(firstPause<<min(max(failures-1, 0), 10), lastPause))
}

// pauseFor returns how long to wait after a number of consecutive failures, with the last error.
func (t timing) pauseFor(failures int, err error) time.Duration {
	length := t.pause(failures)
	if meta.IsNoMatchError(err) {
		length = min(length, jitter(unservedPause))
	}
	return length
}

func jitter(length time.Duration) time.Duration {
	return time.Duration(float64(length) * (0.8 + 0.4*rand.Float64()))
}

// wait returns false if the context has ended, otherwise when the time is over or poke receives.
func wait(ctx context.Context, length time.Duration, poke <-chan struct{}) bool {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-poke:
	case <-timer.C:
	}
	return ctx.Err() == nil
}
