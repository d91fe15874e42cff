// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	eventsv1 "k8s.io/api/events/v1"

	"espalier.dev/internal/objecttree"
)

// Timeline is the course of the current or last run of an installation: the waterfall of its page, and all events of that run. No page
// shows it; `espalier timeline` does.
type Timeline struct {
	// Run has no start if there was no run.
	Run Job
	// Rows are those of the page.
	Rows []Row
	// Events are in chronological order. Those that the API server has dropped are reconstructed from statuses, as far as possible.
	Events []Event
}

// NewTimeline returns the timeline of an installation; false if it does not exist.
func NewTimeline(s Scene, namespace, name string) (Timeline, bool) {
	forest := s.forest()
	node := forest.Installation(namespace, name)
	if node == nil {
		return Timeline{}, false
	}
	t := newTree(s, forest, node)
	told := Timeline{Run: RunOf(node), Rows: t.rows(), Events: []Event{}}
	if told.Run.Start == nil {
		return told, true
	}
	about := map[Ref]bool{}
	for _, row := range told.Rows {
		about[row.Ref] = true
	}
	s.Events = slices.DeleteFunc(slices.Clone(s.Events), func(e *eventsv1.Event) bool { return lastTime(e).Before(*told.Run.Start) })
	told.Events = s.said(about)
	node.Walk(func(below *objecttree.Node) { told.recall(below) })
	slices.SortStableFunc(told.Events, func(a, b Event) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(told.place(a), told.place(b)))
	})
	return told, true
}

// RunOf returns the current or last job of an object's tree. In the continuous flow, which has no jobs, it is the last run of the object
// itself, without an ID.
func RunOf(node *objecttree.Node) Job {
	if job := jobOf(node); job != nil {
		return *job
	}
	times := node.Status.TransitionTimes
	if times == nil || !node.Continuous() {
		return Job{}
	}
	return Job{Start: cmp.Or(stamp(times.TriggerTime), stamp(times.InitTime)), End: endTime(node)}
}

// place returns the position of an event's object in the tree.
func (t *Timeline) place(e Event) int {
	return slices.IndexFunc(t.Rows, func(row Row) bool { return row.Ref == e.About })
}

// recall adds what the status of an object records about the run and no event reports: that it got the job, how it ended, and what is wrong
// with it or what it waits for.
func (t *Timeline) recall(node *objecttree.Node) {
	times := node.Status.TransitionTimes
	if times == nil || t.Run.ID != "" && node.Status.JobID != t.Run.ID {
		return
	}
	known := node.Explain()
	t.add(node, objecttree.Triggered, "", stamp(times.TriggerTime))
	if end := endTime(node); end != nil && node.Status.Phase.IsFinal() {
		t.add(node, string(node.Status.Phase), known.Message, end)
	}
	t.add(node, known.Reason, known.Message, timeOf(known.Since))
}

// add adds an entry from a status, unless it precedes the run or there is an event for it.
func (t *Timeline) add(node *objecttree.Node, reason, message string, at *time.Time) {
	ref := refOf(node)
	told := func(e Event) bool {
		return e.About == ref && (e.Reason == reason || message != "" && strings.Contains(e.Message, message))
	}
	if reason == "" || at == nil || at.Before(*t.Run.Start) || slices.ContainsFunc(t.Events, told) {
		return
	}
	tone := toneOf(node, reason)
	if reason == objecttree.Triggered {
		tone = NotYet
	}
	t.Events = append(t.Events, Event{Time: *at, Tone: tone, Reason: reason, Message: message, About: ref, Count: 1})
}
