// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fairness_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"espalier.dev/internal/fairness"
)

func second(n int) time.Time { return time.Unix(int64(n), 0) }

func TestAlarmsComeInTheOrderOfTheirTimes(t *testing.T) {
	var a fairness.Alarms[item]
	if _, set := a.Next(); set {
		t.Error("there is an alarm that nobody has set")
	}
	a.Set("a/3", fairness.Soon, second(3))
	a.Set("a/1", fairness.First, second(1))
	a.Set("a/2", fairness.Later, second(2))
	a.Set("a/4", fairness.Soon, second(1))
	if next, set := a.Next(); !set || !next.Equal(second(1)) {
		t.Errorf("the next alarm is at %v, %t", next, set)
	}
	if early := a.Due(second(0)); len(early) > 0 {
		t.Errorf("%v came too early", early)
	}
	got := a.Due(second(2))
	want := []fairness.Alarm[item]{
		{Item: "a/1", Class: fairness.First}, {Item: "a/4", Class: fairness.Soon}, {Item: "a/2", Class: fairness.Later},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if again := a.Due(second(2)); len(again) > 0 {
		t.Errorf("%v came twice", again)
	}
}

func TestTheEarlierTimeAndTheHigherClassCount(t *testing.T) {
	var a fairness.Alarms[item]
	a.Set("a/1", fairness.Soon, second(5))
	a.Set("a/1", fairness.First, second(9))
	a.Set("a/1", fairness.Later, second(2))
	if got := a.Due(second(2)); len(got) != 1 || got[0].Class != fairness.First {
		t.Errorf("%v, want one alarm of the highest class", got)
	}
	if got := a.Due(second(100)); len(got) > 0 {
		t.Errorf("%v came twice", got)
	}
}

func TestACancelledAlarmDoesNotCome(t *testing.T) {
	var a fairness.Alarms[item]
	a.Set("a/1", fairness.First, second(1))
	a.Set("a/2", fairness.Soon, second(1))
	if class, ok := a.Cancel("a/1"); !ok || class != fairness.First {
		t.Errorf("class %d, %t", class, ok)
	}
	if _, ok := a.Cancel("a/1"); ok {
		t.Error("it was cancelled twice")
	}
	if got := a.Due(second(1)); len(got) != 1 || got[0].Item != "a/2" {
		t.Errorf("%v, want a/2 alone", got)
	}
}

// Random operations agree with a map that is searched.
func TestAlarmsAgainstAModel(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 2))
		var a fairness.Alarms[item]
		times := map[item]int{}
		for now := range 200 {
			i := item(fmt.Sprintf("a/%d", random.IntN(20)))
			at := now + random.IntN(30)
			switch random.IntN(4) {
			case 0:
				_, had := times[i]
				if _, ok := a.Cancel(i); ok != had {
					t.Fatalf("seed %d: %s was cancelled: %t, want %t", seed, i, ok, had)
				}
				delete(times, i)
			default:
				if before, known := times[i]; !known || at < before {
					times[i] = at
				}
				a.Set(i, fairness.Soon, second(at))
			}
			for _, due := range a.Due(second(now)) {
				if want, set := times[due.Item]; !set || want > now {
					t.Fatalf("seed %d: %s came at %d, want %d, %t", seed, due.Item, now, want, set)
				}
				delete(times, due.Item)
			}
			next, set := a.Next()
			if set != (len(times) > 0) || set && !next.Equal(second(slices.Min(slices.Collect(maps.Values(times))))) {
				t.Fatalf("seed %d: the next alarm is at %v, %t, of %v", seed, next, set, times)
			}
		}
	}
}
