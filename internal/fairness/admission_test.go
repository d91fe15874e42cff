// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fairness_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"espalier.dev/internal/fairness"
)

// enter adds a number of items of a lane, and returns those that start.
func enter(a *fairness.Admission[item], lane string, count int, now time.Time) []item {
	var begun []item
	for i := range count {
		begun = append(begun, a.Enter(item(fmt.Sprintf("%s/%d", lane, i)), now)...)
	}
	return begun
}

func TestALaneThatIsAloneHasNoLimit(t *testing.T) {
	a := fairness.NewAdmission(fairness.Limits{Shared: 4}, laneOf)
	if begun := enter(a, "a", 100, second(1)); len(begun) != 100 {
		t.Errorf("%d of 100 begin", len(begun))
	}
}

func TestSeveralLanesShareWhatMayBeUnderWay(t *testing.T) {
	a := fairness.NewAdmission(fairness.Limits{Shared: 8}, laneOf)
	flood := enter(a, "flood", 20, second(1))
	if begun := a.Enter("single/0", second(1)); !slices.Equal(begun, []item{"single/0"}) {
		t.Errorf("%v begin, want the single one at once", begun)
	}
	for i := 20; i < 40; i++ {
		if begun := a.Enter(item(fmt.Sprintf("flood/%d", i)), second(1)); len(begun) > 0 {
			t.Fatalf("%v begin although others have fallen behind", begun)
		}
	}
	underWay := len(flood)
	for _, one := range flood { // Items under way end, and at most half of the shared number replaces them.
		underWay += len(a.Leave(one, second(1))) - 1
	}
	if underWay != 4 {
		t.Errorf("%d are under way, want a half of 8", underWay)
	}
	a.Leave("single/0", second(1))
	if begun := a.Leave("flood/20", second(3)); len(begun) != 16 {
		t.Errorf("%d begin when the other lane has been silent for long, want the 16 that are left", len(begun))
	}
}

func TestEachLaneHasAtLeastOne(t *testing.T) {
	a := fairness.NewAdmission(fairness.Limits{Shared: 2}, laneOf)
	for i := range 10 {
		one := item(fmt.Sprintf("lane%d/0", i))
		if begun := a.Enter(one, second(1)); !slices.Equal(begun, []item{one}) {
			t.Errorf("%v begin, want %s", begun, one)
		}
	}
}

// Hanging items of one lane block no other lane.
func TestWhatHangsHoldsUpItsOwnLane(t *testing.T) {
	a := fairness.NewAdmission(fairness.Limits{Shared: 4}, laneOf)
	enter(a, "hanging", 50, second(1))
	for i := range 5 {
		one := item(fmt.Sprintf("other/%d", i))
		if begun := a.Enter(one, second(1+i)); !slices.Equal(begun, []item{one}) {
			t.Fatalf("%v begin, want %s", begun, one)
		}
		a.Leave(one, second(1+i))
	}
}

func TestTheRateIsKeptAndFair(t *testing.T) {
	a := fairness.NewAdmission(fairness.Limits{Rate: 10, Burst: 2}, laneOf)
	now := second(1)
	if begun := enter(a, "flood", 50, now); len(begun) != 2 {
		t.Errorf("%v begin at once, want 2", begun)
	}
	if begun := a.Enter("single/0", now); len(begun) > 0 {
		t.Errorf("%v begin beyond the rate", begun)
	}
	var order []item
	for range 3 {
		wait := a.Next(now)
		if wait <= 0 || wait > 101*time.Millisecond {
			t.Fatalf("the next one may begin after %v, want about 100ms", wait)
		}
		if early := a.Admit(now.Add(wait / 2)); len(early) > 0 {
			t.Errorf("%v begin too early", early)
		}
		now = now.Add(wait + time.Microsecond)
		order = append(order, a.Admit(now)...)
	}
	if !slices.Equal(order, []item{"flood/2", "single/0", "flood/3"}) {
		t.Errorf("%v began, want the single one in turn", order)
	}
	now = now.Add(time.Hour)
	if begun := a.Admit(now); len(begun) != 2 {
		t.Errorf("%d begin after an hour, want no more than the burst", len(begun))
	}
}

func TestWhoGivesUpTakesNothing(t *testing.T) {
	a := fairness.NewAdmission(fairness.Limits{Shared: 2}, laneOf)
	a.Enter("b/0", second(1))
	enter(a, "a", 3, second(1)) // one of them is under way
	if begun := a.Leave("a/1", second(1)); len(begun) > 0 {
		t.Errorf("%v begin because somebody has given up who waited", begun)
	}
	if begun := a.Leave("a/0", second(1)); !slices.Equal(begun, []item{"a/2"}) {
		t.Errorf("%v begin, want a/2", begun)
	}
}

// Every item that enters starts once, provided that those under way end eventually.
func TestAllBeginOnce(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 3))
		a := fairness.NewAdmission(fairness.Limits{Shared: random.IntN(4), Rate: float64(random.IntN(2) * 100), Burst: 3}, laneOf)
		now, entered, began := second(1), 0, map[item]int{}
		var underWay []item
		note := func(items []item) {
			for _, i := range items {
				began[i]++
			}
			underWay = append(underWay, items...)
		}
		for step := 0; step < 300 || len(began) < entered || len(underWay) > 0; step++ {
			now = now.Add(time.Duration(random.IntN(100)) * time.Millisecond)
			switch {
			case step < 300 && random.IntN(2) == 0:
				entered++
				note(a.Enter(item(fmt.Sprintf("%c/%d", 'a'+random.IntN(3), entered)), now))
			case len(underWay) > 0:
				at := random.IntN(len(underWay))
				ended := underWay[at]
				underWay = slices.Delete(underWay, at, at+1)
				note(a.Leave(ended, now))
			default:
				note(a.Admit(now))
			}
			if step > 100_000 {
				t.Fatalf("seed %d: %d of %d began", seed, len(began), entered)
			}
		}
		for i, times := range began {
			if times != 1 {
				t.Errorf("seed %d: %s began %d times", seed, i, times)
			}
		}
	}
}
