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
	// answer is how long a cluster may take to answer a request, or to begin a watch.
	answer time.Duration
	// stable is how long a watch must have lasted for the next one to begin at once.
	stable time.Duration
	// stream is the least time after which a watch is renewed; it may last up to twice as long.
	stream time.Duration
	// recheck is how often a link reads its objects again although no change was seen, and looks after them if they cannot be watched.
	recheck time.Duration
	// absence is how often a feed asks whether the namespaces of missing applications exist.
	absence time.Duration
	// pause is how long to wait after that many failures in a row.
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
	// unservedPause is the longest pause if nothing is wrong but that a kind is not served: it may be installed any moment.
	unservedPause = 5 * time.Second
	// streamGrace is what a watch may last beyond its time, before it counts as stuck.
	streamGrace = time.Minute
)

// pauseAfter doubles from the first pause to the last one, with a fifth of jitter either way.
func pauseAfter(failures int) time.Duration {
	return jitter(min(firstPause<<min(max(failures-1, 0), 10), lastPause))
}

// pauseFor is how long to wait after that many failures in a row, of which this was the last one.
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

// wait returns false if the context has ended, else when the time is over or somebody pokes.
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
