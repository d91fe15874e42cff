// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fairness_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"espalier.dev/internal/fairness"
)

// item is "lane/name".
type item string

func laneOf(i item) string {
	lane, _, _ := strings.Cut(string(i), "/")
	return lane
}

// drain takes and finishes all waiting items.
func drain(o *fairness.Order[item]) []item {
	var taken []item
	for {
		next, _, ok := o.Next()
		if !ok {
			return taken
		}
		o.Done(next)
		taken = append(taken, next)
	}
}

func TestLanesTakeTurns(t *testing.T) {
	for name, c := range map[string]struct {
		first, soon, later []item
		want               []item
	}{
		"one lane is a queue": {
			soon: []item{"a/1", "a/2", "a/3"},
			want: []item{"a/1", "a/2", "a/3"},
		},
		"who comes last waits for one of each": {
			soon: []item{"a/1", "a/2", "a/3", "b/1", "b/2", "c/1"},
			want: []item{"a/1", "b/1", "c/1", "a/2", "b/2", "a/3"},
		},
		"what is urgent in one lane is not urgent in another": {
			first: []item{"a/1", "a/2", "a/3"},
			soon:  []item{"a/4", "b/1"},
			want:  []item{"a/1", "b/1", "a/2", "a/3", "a/4"},
		},
		"what is Later waits for the others, in all lanes": {
			later: []item{"a/1", "b/1"},
			soon:  []item{"c/1", "c/2"},
			want:  []item{"c/1", "c/2", "a/1", "b/1"},
		},
		"every eighth turn is that of what is Later": {
			later: []item{"b/1"},
			soon:  []item{"a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "a/7", "a/8"},
			want:  []item{"a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "a/7", "b/1", "a/8"},
		},
		"every eighth turn of a lane is that of the less urgent": {
			first: []item{"a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "a/7", "a/8"},
			soon:  []item{"a/9"},
			want:  []item{"a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "a/7", "a/9", "a/8"},
		},
		"what is added again waits where it is": {
			soon: []item{"a/1", "a/2", "a/1"},
			want: []item{"a/1", "a/2"},
		},
		"what becomes urgent overtakes": {
			soon:  []item{"a/1", "a/2", "a/3"},
			first: []item{"a/3"},
			want:  []item{"a/3", "a/1", "a/2"},
		},
		"what is urgent stays urgent": {
			first: []item{"a/2"},
			soon:  []item{"a/1", "a/2"},
			later: []item{"a/2"},
			want:  []item{"a/2", "a/1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := fairness.NewOrder(0, laneOf)
			for class, items := range [][]item{fairness.Later: c.later, fairness.Soon: c.soon, fairness.First: c.first} {
				for _, i := range items {
					o.Add(i, fairness.Class(class))
				}
			}
			if got := drain(o); !slices.Equal(got, c.want) {
				t.Errorf("order %v, want %v", got, c.want)
			}
		})
	}
}

func TestALaneHasNoMoreThanItsShare(t *testing.T) {
	o := fairness.NewOrder(2, laneOf)
	for _, i := range []item{"a/1", "a/2", "a/3", "a/4"} {
		o.Add(i, fairness.Soon)
	}
	take := func(want item) {
		t.Helper()
		if got, _, ok := o.Next(); !ok || got != want {
			t.Fatalf("got %q, %t, want %q", got, ok, want)
		}
	}
	take("a/1")
	take("a/2")
	if got, _, ok := o.Next(); ok || o.Ready() {
		t.Errorf("%q was taken beyond the share", got)
	}
	o.Add("b/1", fairness.Soon)
	take("b/1")
	o.Done("a/2")
	take("a/3")
	if o.Ready() {
		t.Error("there is more than the share")
	}
	if o.Len() != 1 || o.Working() != 3 {
		t.Errorf("%d wait and %d are worked on, want 1 and 3", o.Len(), o.Working())
	}
}

func TestWhatIsAddedWhileItIsWorkedOnComesAgainOnce(t *testing.T) {
	o := fairness.NewOrder(0, laneOf)
	o.Add("a/1", fairness.Soon)
	if _, _, ok := o.Next(); !ok {
		t.Fatal("nothing waits")
	}
	if o.Wanted("a/1") {
		t.Error("it is wanted before it is added again")
	}
	o.Add("a/1", fairness.Later)
	o.Add("a/1", fairness.First)
	o.Add("a/1", fairness.Soon)
	if o.Ready() || !o.Wanted("a/1") {
		t.Error("it is handed out to a second worker, or is lost")
	}
	o.Done("a/1")
	got, class, ok := o.Next()
	if !ok || got != "a/1" || class != fairness.First {
		t.Errorf("%q of class %d, %t: want a/1, as urgent as it was said to be", got, class, ok)
	}
	o.Done("a/1")
	o.Done("a/1") // once too often
	if o.Ready() || o.Len()+o.Working() != 0 {
		t.Error("something is left")
	}
}

// An adversary keeps adding more urgent items, in the same lane and in others. Each item still comes within a number of turns that depends
// on what waits before it and on the number of lanes, not on what comes after it.
func TestNoLaneStarves(t *testing.T) {
	const lanes, ahead = 20, 5
	for _, class := range []fairness.Class{fairness.Later, fairness.Soon, fairness.First} {
		t.Run(fmt.Sprint(class), func(t *testing.T) {
			o := fairness.NewOrder(0, laneOf)
			for i := range ahead {
				o.Add(item(fmt.Sprintf("victim/%d", i)), class)
			}
			o.Add("victim/last", class)
			limit, added := 8*8*(ahead+1)*(lanes+1), 0
			for range limit {
				for l := range lanes {
					added++
					o.Add(item(fmt.Sprintf("lane%d/%d", l, added)), fairness.First)
				}
				added++
				o.Add(item(fmt.Sprintf("victim/urgent%d", added)), fairness.First)
				got, _, ok := o.Next()
				if !ok {
					t.Fatal("nothing comes although much waits")
				}
				o.Done(got)
				if got == "victim/last" {
					return
				}
			}
			t.Errorf("it has not come in %d turns", limit)
		})
	}
}

// Empty lanes are dropped.
func TestLanesAreForgotten(t *testing.T) {
	o := fairness.NewOrder(1, laneOf)
	for round := range 3 {
		for lane := range 1000 {
			o.Add(item(fmt.Sprintf("lane%d-%d/x", round, lane)), fairness.Class(lane%3))
		}
		if got := len(drain(o)); got != 1000 {
			t.Fatalf("%d items came, want 1000", got)
		}
	}
	if got := fairness.Lanes(o); got != 0 {
		t.Errorf("%d lanes are remembered of which nothing waits", got)
	}
}
