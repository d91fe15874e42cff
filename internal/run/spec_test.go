// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

func TestCON16_ASpecIsKnownByItsMark(t *testing.T) {
	config := func(text string) lsv1alpha1.DeployItemTemplate {
		return lsv1alpha1.DeployItemTemplate{Name: "a", Configuration: &runtime.RawExtension{Raw: []byte(text)}}
	}
	mark := run.SpecMark("uid", 3, config(`{"a":1,"b":2}`))
	if len(mark) != 40 || mark != run.SpecMark("uid", 3, config(`{"b":2, "a":1}`)) {
		t.Errorf("the mark %q depends on how the spec is written", mark)
	}
	for what, other := range map[string]string{
		"another object":     run.SpecMark("other", 3, config(`{"a":1,"b":2}`)),
		"another generation": run.SpecMark("uid", 4, config(`{"a":1,"b":2}`)),
		"another spec":       run.SpecMark("uid", 3, config(`{"a":1,"b":3}`)),
	} {
		if other == mark {
			t.Errorf("%s has the same mark", what)
		}
	}
}

func TestCON16_AStatusSpeaksOfAnotherGenerationOfTheSameSpec(t *testing.T) {
	status := &lsv1alpha1.RunStatus{ObservedGeneration: 2, Conditions: []lsv1alpha1.Condition{
		{
			Type:               lsv1alpha1.ConditionReady,
			ObservedGeneration: 2,
		}, {Type: "Other", ObservedGeneration: 2}, {Type: lsv1alpha1.ConditionStalled, ObservedGeneration: 1},
	}}
	run.Observe(status, 5, "mark")
	if status.ObservedGeneration != 5 || status.ObservedSpec != "mark" {
		t.Errorf("the status speaks of %d, %q", status.ObservedGeneration, status.ObservedSpec)
	}
	for i, want := range []int64{5, 2, 1} {
		if c := status.Conditions[i]; c.ObservedGeneration != want {
			t.Errorf("%s speaks of %d, want %d", c.Type, c.ObservedGeneration, want)
		}
	}
}

// Rechecks occur at growing intervals.
func TestJOB24_RechecksGrow(t *testing.T) {
	begun := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	now, last := begun, time.Duration(0)
	for range 12 {
		next := run.Recheck(begun, now)
		if next < last || next < run.MinRecheck || next > run.MaxRecheck {
			t.Fatalf("after %s it is looked at again after %s, before after %s", now.Sub(begun), next, last)
		}
		now, last = now.Add(next), next
	}
	if last != run.MaxRecheck || run.Recheck(time.Time{}, now) != run.MinRecheck {
		t.Errorf("the last interval is %s, the first %s", last, run.Recheck(time.Time{}, now))
	}
}
