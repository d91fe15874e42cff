// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fairness

import (
	"container/list"
	"maps"
	"slices"
)

// Class is the urgency of an item.
type Class int

// The classes. Later items wait for everything else, in any lane; First and Soon are compared within a lane.
const (
	Later Class = iota
	Soon
	First

	classes
)

// exception is how often the turn goes to the less urgent: every eighth time.
const exception = 8

// Order holds waiting items and those being worked on. An item waits at most once, and is worked on at most once: if it is added while it
// is worked on, it waits again afterwards. Order is not safe for concurrent use.
type Order[T comparable] struct {
	laneOf func(T) string
	share  int

	waiting map[T]*place
	working map[T]*repetition
	lanes   map[string]*lane
	// pressing and patient are the lanes with an available item that is not Later, or that is. The first lane is next.
	pressing, patient *list.List
	turns             int
}

// place is the position of a waiting item.
type place struct {
	class   Class
	element *list.Element
}

// repetition records whether an item was added while it is worked on.
type repetition struct {
	added bool
	class Class
}

// lane holds the waiting items of a namespace, and the number of those being worked on.
type lane struct {
	name    string
	waiting [classes]*list.List
	working int
	turns   int
	// pressing and patient are nil if the lane is not in the list of that name.
	pressing, patient *list.Element
}

// NewOrder returns an empty order. At most share items of a lane are worked on at once; zero means no limit.
func NewOrder[T comparable](share int, laneOf func(T) string) *Order[T] {
	return &Order[T]{
		laneOf: laneOf, share: share, waiting: map[T]*place{}, working: map[T]*repetition{}, lanes: map[string]*lane{},
		pressing: list.New(), patient: list.New(),
	}
}

// Add adds a waiting item. If it already waits and its class becomes higher, it moves behind the others of that class.
func (o *Order[T]) Add(item T, class Class) {
	if r, works := o.working[item]; works {
		if !r.added || class > r.class {
			*r = repetition{added: true, class: class}
		}
		return
	}
	l := o.lane(item)
	if p, waits := o.waiting[item]; waits {
		if class <= p.class {
			return
		}
		l.waiting[p.class].Remove(p.element)
	}
	o.waiting[item] = &place{class: class, element: l.waiting[class].PushBack(item)}
	o.settle(l)
}

// Next takes the next item: it is worked on until Done. There may be none although something waits, see Ready.
func (o *Order[T]) Next() (item T, class Class, ok bool) {
	lanes := o.pressing
	if lanes.Len() == 0 || o.patient.Len() > 0 && (o.turns+1)%exception == 0 {
		lanes = o.patient
	}
	front := lanes.Front()
	if front == nil {
		return item, class, false
	}
	o.turns++
	lanes.MoveToBack(front)
	l := front.Value.(*lane)
	if lanes == o.pressing {
		class = l.next()
	}
	item = l.waiting[class].Remove(l.waiting[class].Front()).(T)
	delete(o.waiting, item)
	o.working[item] = &repetition{}
	l.working++
	o.settle(l)
	return item, class, true
}

// Done marks an item as no longer worked on. If it was added in the meantime, it waits again.
func (o *Order[T]) Done(item T) {
	r, works := o.working[item]
	if !works {
		return
	}
	delete(o.working, item)
	l := o.lane(item)
	l.working--
	if r.added {
		o.Add(item, r.class)
	}
	o.settle(l)
}

// Remove removes a waiting item, and reports whether it was waiting.
func (o *Order[T]) Remove(item T) bool {
	p, waits := o.waiting[item]
	if !waits {
		return false
	}
	l := o.lane(item)
	l.waiting[p.class].Remove(p.element)
	delete(o.waiting, item)
	o.settle(l)
	return true
}

// Ready reports whether Next would return an item.
func (o *Order[T]) Ready() bool { return o.pressing.Len()+o.patient.Len() > 0 }

// Wanted reports whether an item waits, or will wait once it is done.
func (o *Order[T]) Wanted(item T) bool {
	r, works := o.working[item]
	return o.waiting[item] != nil || works && r.added
}

// Len returns the number of waiting items.
func (o *Order[T]) Len() int { return len(o.waiting) }

// Working returns the number of items being worked on.
func (o *Order[T]) Working() int { return len(o.working) }

// SetShare changes how many items of each lane may be worked on at once. Items already being worked on are not affected.
func (o *Order[T]) SetShare(share int) {
	if share == o.share {
		return
	}
	o.share = share
	for _, name := range slices.Sorted(maps.Keys(o.lanes)) {
		o.settle(o.lanes[name])
	}
}

// knows reports whether a lane has items that wait or are worked on.
func (o *Order[T]) knows(lane string) bool { return o.lanes[lane] != nil }

func (o *Order[T]) lane(item T) *lane {
	name := o.laneOf(item)
	l := o.lanes[name]
	if l == nil {
		l = &lane{name: name}
		for c := range l.waiting {
			l.waiting[c] = list.New()
		}
		o.lanes[name] = l
	}
	return l
}

// next returns the class of the next item of a lane with pressing items.
func (l *lane) next() Class {
	l.turns++
	if l.waiting[First].Len() == 0 || l.waiting[Soon].Len() > 0 && l.turns%exception == 0 {
		return Soon
	}
	return First
}

// settle adds a lane to the turns if an item can be taken from it, and drops it if it is empty.
func (o *Order[T]) settle(l *lane) {
	free := o.share == 0 || l.working < o.share
	pressing := l.waiting[First].Len()+l.waiting[Soon].Len() > 0
	patient := l.waiting[Later].Len() > 0
	l.pressing = enlist(o.pressing, l.pressing, l, free && pressing)
	l.patient = enlist(o.patient, l.patient, l, free && patient)
	if !pressing && !patient && l.working == 0 {
		delete(o.lanes, l.name)
	}
}

// enlist appends a lane to a list or removes it, unless it is already as wanted.
func enlist(lanes *list.List, element *list.Element, l *lane, wanted bool) *list.Element {
	switch {
	case wanted && element == nil:
		return lanes.PushBack(l)
	case !wanted && element != nil:
		lanes.Remove(element)
		return nil
	default:
		return element
	}
}
