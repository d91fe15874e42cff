// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
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

func TestBackoffJitterDiffers(t *testing.T) {
	b := NewBackoff()
	seen := map[time.Duration]bool{}
	for range 20 {
		b.Forget(someRequest)
		seen[b.When(someRequest)] = true
	}
	if len(seen) < 2 {
		t.Error("twenty first intervals were all the same: there is no jitter")
	}
}
