// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fairness_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"espalier.dev/internal/fairness"
)

// model is an order as simple as possible: lists that are searched. It does not say which item comes next, but which items may.
type model struct {
	share   int
	waiting []waiter // in the order in which they were added to their class
	working map[item]*waiter
	// now counts operations; servedAt is when a lane was last taken from, readyAt since when it has had a pressing item that can be taken.
	now               int
	servedAt, readyAt map[string]int
	less              map[string]int // consecutive urgent items of a lane while a less urgent one waited
}

type waiter struct {
	item  item
	class fairness.Class
	again bool
}

func newModel(share int) *model {
	return &model{share: share, working: map[item]*waiter{}, servedAt: map[string]int{}, readyAt: map[string]int{}, less: map[string]int{}}
}

func (m *model) at(i item) int {
	return slices.IndexFunc(m.waiting, func(w waiter) bool { return w.item == i })
}

func (m *model) add(i item, class fairness.Class) {
	if w, works := m.working[i]; works {
		if !w.again || class > w.class {
			w.again, w.class = true, class
		}
		return
	}
	if at := m.at(i); at >= 0 {
		if class <= m.waiting[at].class {
			return
		}
		m.waiting = slices.Delete(m.waiting, at, at+1)
	}
	m.waiting = append(m.waiting, waiter{item: i, class: class})
}

func (m *model) done(i item) {
	w := m.working[i]
	delete(m.working, i)
	if w != nil && w.again {
		m.add(i, w.class)
	}
}

func (m *model) busy(lane string) int {
	count := 0
	for i := range m.working {
		if laneOf(i) == lane {
			count++
		}
	}
	return count
}

func (m *model) free(lane string) bool { return m.share == 0 || m.busy(lane) < m.share }

// of returns the waiting items of a lane that satisfy a condition.
func (m *model) of(lane string, is func(waiter) bool) []waiter {
	return slices.DeleteFunc(slices.Clone(m.waiting), func(w waiter) bool { return laneOf(w.item) != lane || !is(w) })
}

func pressing(w waiter) bool { return w.class > fairness.Later }

// note records since when each lane could be taken from.
func (m *model) note(lanes []string) {
	m.now++
	for _, lane := range lanes {
		ready := m.free(lane) && len(m.of(lane, pressing)) > 0
		if _, known := m.readyAt[lane]; ready != known {
			delete(m.readyAt, lane)
			if ready {
				m.readyAt[lane] = m.now
			}
		}
	}
}

func (m *model) ready() bool {
	return slices.ContainsFunc(m.waiting, func(w waiter) bool { return m.free(laneOf(w.item)) })
}

// take checks that an item may be taken now, and takes it.
func (m *model) take(i item, class fairness.Class) error {
	lane, at := laneOf(i), m.at(i)
	switch {
	case m.working[i] != nil:
		return fmt.Errorf("%s is given to a second worker", i)
	case at < 0:
		return fmt.Errorf("%s comes and does not wait", i)
	case !m.free(lane):
		return fmt.Errorf("%s comes beyond the share of its lane", i)
	case m.waiting[at].class != class:
		return fmt.Errorf("%s is of class %d, not %d", i, m.waiting[at].class, class)
	}
	same := m.of(lane, func(w waiter) bool { return w.class == class })
	if same[0].item != i {
		return fmt.Errorf("%s overtakes %s", i, same[0].item)
	}
	if err := m.takeTurn(lane, class); err != nil {
		return fmt.Errorf("%s: %w", i, err)
	}
	m.waiting = slices.Delete(m.waiting, at, at+1)
	m.working[i] = &waiter{item: i}
	return nil
}

// takeTurn checks that no lane is taken from twice while another one waits for its turn, and that urgency counts most of the time.
func (m *model) takeTurn(lane string, class fairness.Class) error {
	if class == fairness.Later {
		return nil
	}
	last, served := m.servedAt[lane]
	for other, since := range m.readyAt {
		if served && other != lane && since < last && m.servedAt[other] < last {
			return fmt.Errorf("lane %s comes again before lane %s", lane, other)
		}
	}
	m.servedAt[lane] = m.now
	urgent := len(m.of(lane, func(w waiter) bool { return w.class == fairness.First })) > 0
	if class == fairness.Soon && urgent {
		if m.less[lane] < 7 {
			return fmt.Errorf("lane %s prefers what is less urgent after %d turns", lane, m.less[lane])
		}
		m.less[lane] = 0
		return nil
	}
	m.less[lane]++
	return nil
}

// Random operations agree with the simple model: nothing is lost, duplicated or handed out twice at a time.
func TestOrderAgainstAModel(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		lanes := []string{"a", "b", "c", "d", "e"}[:1+random.IntN(5)]
		play(t, seed, random, lanes)
	}
}

func play(t *testing.T, seed uint64, random *rand.Rand, lanes []string) {
	t.Helper()
	share := random.IntN(4)
	o, m := fairness.NewOrder(share, laneOf), newModel(share)
	var working []item
	take := func() {
		next, class, ok := o.Next()
		if ok != m.ready() {
			t.Fatalf("seed %d: something comes: %t, want %t", seed, ok, m.ready())
		}
		if !ok {
			return
		}
		if err := m.take(next, class); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		working = append(working, next)
	}
	finish := func() {
		at := random.IntN(len(working))
		o.Done(working[at])
		m.done(working[at])
		working = slices.Delete(working, at, at+1)
	}
	for range 500 {
		switch random.IntN(5) {
		case 0, 1:
			i := item(fmt.Sprintf("%s/%d", lanes[random.IntN(len(lanes))], random.IntN(8)))
			class := fairness.Class(random.IntN(3))
			o.Add(i, class)
			m.add(i, class)
		case 2, 3:
			take()
		default:
			if len(working) > 0 {
				finish()
			}
		}
		m.note(lanes)
		if o.Ready() != m.ready() || o.Len() != len(m.waiting) || o.Working() != len(m.working) {
			t.Fatalf("seed %d: ready %t, %d wait, %d in work: want %t, %d, %d",
				seed, o.Ready(), o.Len(), o.Working(), m.ready(), len(m.waiting), len(m.working))
		}
	}
	for o.Len()+o.Working() > 0 { // everything that was added comes
		take()
		m.note(lanes)
		if len(working) > 0 {
			finish()
		}
		m.note(lanes)
	}
	if fairness.Lanes(o) != 0 {
		t.Errorf("seed %d: lanes are left over", seed)
	}
}
