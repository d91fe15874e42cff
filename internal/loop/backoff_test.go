// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var someRequest = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "a"}}

func TestBackoffGrowsToItsCapWithinTheJitter(t *testing.T) {
	for name, random := range map[string]float64{"lowest": 0, "middle": 0.5, "highest": 0.999} {
		t.Run(name, func(t *testing.T) {
			b := newBackoff(100*time.Millisecond, time.Second, func() float64 { return random })
			for i, nominal := range []time.Duration{100, 200, 400, 800, 1000, 1000, 1000} {
				nominal *= time.Millisecond
				got := b.When(someRequest)
				if got < nominal*79/100 || got > nominal*121/100 {
					t.Errorf("interval %d = %v, want %v within 20 %%", i, got, nominal)
				}
			}
		})
	}
}

func TestBackoffCountsEachObjectApartAndForgets(t *testing.T) {
	b := newBackoff(time.Second, time.Hour, func() float64 { return 0.5 })
	other := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "b"}}
	b.When(someRequest)
	b.When(someRequest)
	if got := b.When(other); got != time.Second {
		t.Errorf("first interval of another object = %v, want 1s", got)
	}
	b.Forget(someRequest)
	if got := b.When(someRequest); got != time.Second {
		t.Errorf("first interval after Forget = %v, want 1s", got)
	}
}

// This tests jitter where intervals are chosen, in the limiter that every controller gets: on a slow machine, intervals between attempts
// differ even without it.
func TestJOB30_WhatHasFailedTogetherDoesNotComeBackTogether(t *testing.T) {
	limiter := Options(1).RateLimiter
	shorter, longer := 0, 0
	for i := range 100 {
		object := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: strconv.Itoa(i)}}
		switch interval := limiter.When(object); {
		case interval < retryBase:
			shorter++
		case interval > retryBase:
			longer++
		}
	}
	if shorter < 10 || longer < 10 {
		t.Errorf("of 100 first intervals, %d are shorter and %d longer than nominal: there is no jitter", shorter, longer)
	}
}
