// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fairness

import (
	"container/heap"
	"time"
)

// Alarms are items to be added to an order at a certain time, each at most once. The zero value is ready. Alarms are not safe for
// concurrent use.
type Alarms[T comparable] struct {
	set   map[T]*alarm[T]
	queue alarmQueue[T]
	count uint64
}

// Alarm is an item that is due.
type Alarm[T comparable] struct {
	Item  T
	Class Class
}

type alarm[T comparable] struct {
	Alarm[T]
	at time.Time
	// number keeps alarms with the same time in the order in which they were set.
	number uint64
	index  int
}

// Set sets the alarm of an item. If it already has one, the earlier time and the higher class count.
func (a *Alarms[T]) Set(item T, class Class, at time.Time) {
	if s, known := a.set[item]; known {
		s.Class = max(s.Class, class)
		if at.Before(s.at) {
			s.at = at
			heap.Fix(&a.queue, s.index)
		}
		return
	}
	if a.set == nil {
		a.set = map[T]*alarm[T]{}
	}
	a.count++
	s := &alarm[T]{Alarm: Alarm[T]{Item: item, Class: class}, at: at, number: a.count}
	a.set[item] = s
	heap.Push(&a.queue, s)
}

// Cancel removes the alarm of an item, and returns its class.
func (a *Alarms[T]) Cancel(item T) (class Class, ok bool) {
	s, known := a.set[item]
	if !known {
		return class, false
	}
	heap.Remove(&a.queue, s.index)
	delete(a.set, item)
	return s.Class, true
}

// Due removes and returns the alarms that are due, ordered by time.
func (a *Alarms[T]) Due(now time.Time) []Alarm[T] {
	var due []Alarm[T]
	for len(a.queue) > 0 && !a.queue[0].at.After(now) {
		s := heap.Pop(&a.queue).(*alarm[T])
		delete(a.set, s.Item)
		due = append(due, s.Alarm)
	}
	return due
}

// Next returns the time of the next alarm, if there is one.
func (a *Alarms[T]) Next() (at time.Time, ok bool) {
	if len(a.queue) == 0 {
		return at, false
	}
	return a.queue[0].at, true
}

// alarmQueue implements heap.Interface.
type alarmQueue[T comparable] []*alarm[T]

func (q alarmQueue[T]) Len() int { return len(q) }

func (q alarmQueue[T]) Less(i, j int) bool {
	if !q[i].at.Equal(q[j].at) {
		return q[i].at.Before(q[j].at)
	}
	return q[i].number < q[j].number
}

func (q alarmQueue[T]) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push implements heap.Interface.
func (q *alarmQueue[T]) Push(x any) {
	s := x.(*alarm[T])
	s.index = len(*q)
	*q = append(*q, s)
}

// Pop implements heap.Interface.
func (q *alarmQueue[T]) Pop() any {
	last := len(*q) - 1
	s := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return s
}
