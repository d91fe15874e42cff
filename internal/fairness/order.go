// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fairness

import (
	"container/list"
	"maps"
	"slices"
)

// Class says how urgent an item is.
type Class int

// The classes. What is Later waits for everything else, in whichever lane; First and Soon are compared within a lane.
const (
	Later Class = iota
	Soon
	First

	classes
)

// exception is how often the turn is that of the less urgent: every eighth time.
const exception = 8

// Order is what waits and what is worked on. An item waits at most once, and is worked on at most once: one that is added meanwhile waits
// when it is done. Order is not safe for concurrent use.
type Order[T comparable] struct {
	laneOf func(T) string
	share  int

	waiting map[T]*place
	working map[T]*repetition
	lanes   map[string]*lane
	// pressing and patient are the lanes of which something can be taken: what is not Later, and what is. The first one is next.
	pressing, patient *list.List
	turns             int
}

// place is where an item waits.
type place struct {
	class   Class
	element *list.Element
}

// repetition is whether an item that is worked on was added meanwhile.
type repetition struct {
	added bool
	class Class
}

// lane is what waits and is worked on of a namespace.
type lane struct {
	name    string
	waiting [classes]*list.List
	working int
	turns   int
	// pressing and patient are nil if the lane is not in the list of that name.
	pressing, patient *list.Element
}

// NewOrder returns an order without anything in it. No more items of a lane are worked on at once than its share; zero means any number.
func NewOrder[T comparable](share int, laneOf func(T) string) *Order[T] {
	return &Order[T]{
		laneOf: laneOf, share: share, waiting: map[T]*place{}, working: map[T]*repetition{}, lanes: map[string]*lane{},
		pressing: list.New(), patient: list.New(),
	}
}

// Add lets an item wait. One that waits already becomes as urgent as it is now said to be, if that is more, and then waits behind those of
// that class.
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

// Next takes the item whose turn it is: from now on it is worked on, until Done. There may be none although something waits, see Ready.
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

// Done says that an item is not worked on any more. If it was added meanwhile, it waits now.
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

// Remove lets an item wait no longer, and reports whether it did.
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

// Ready reports whether Next has something to take.
func (o *Order[T]) Ready() bool { return o.pressing.Len()+o.patient.Len() > 0 }

// Wanted reports whether an item waits, or will when it is done.
func (o *Order[T]) Wanted(item T) bool {
	r, works := o.working[item]
	return o.waiting[item] != nil || works && r.added
}

// Len is how many items wait.
func (o *Order[T]) Len() int { return len(o.waiting) }

// Working is how many items are worked on.
func (o *Order[T]) Working() int { return len(o.working) }

// SetShare changes how much of each lane may be worked on at once. What is worked on already stays.
func (o *Order[T]) SetShare(share int) {
	if share == o.share {
		return
	}
	o.share = share
	for _, name := range slices.Sorted(maps.Keys(o.lanes)) {
		o.settle(o.lanes[name])
	}
}

// knows reports whether something of a lane waits or is worked on.
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

// next is the class from which the next item of a lane comes that has something pressing.
func (l *lane) next() Class {
	l.turns++
	if l.waiting[First].Len() == 0 || l.waiting[Soon].Len() > 0 && l.turns%exception == 0 {
		return Soon
	}
	return First
}

// settle lets a lane take turns if something can be taken from it, and forgets it if there is nothing to know.
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

// enlist puts a lane at the end of a list or takes it away, unless it is as it should be.
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
