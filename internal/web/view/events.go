// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// maxEvents is the maximum number of events on a page. kubectl shows older ones.
const maxEvents = 100

// EventsAbout returns the events about one object, the newest first, as a page shows them.
func (s Scene) EventsAbout(ref Ref) []Event { return s.events(map[Ref]bool{ref: true}) }

// events returns the events about some objects that a page shows, the newest first.
func (s Scene) events(about map[Ref]bool) []Event {
	all := s.said(about)
	return all[:min(len(all), maxEvents)]
}

// said returns the events about some objects, the newest first. Repeated events are counted in one entry.
func (s Scene) said(about map[Ref]bool) []Event {
	type saying struct {
		about               Ref
		reason, by, message string
	}
	folded := map[saying]Event{}
	for _, e := range s.Events {
		ref := Ref{e.Regarding.Kind, e.Regarding.Namespace, e.Regarding.Name}
		if !about[ref] {
			continue
		}
		told := eventOf(e, ref)
		k := saying{ref, told.Reason, told.By, told.Message}
		if before, known := folded[k]; known {
			told.Count += before.Count
			if before.Time.After(told.Time) {
				told.Time = before.Time
			}
		}
		folded[k] = told
	}
	all := make([]Event, 0, len(folded))
	for _, e := range folded {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b Event) int {
		return cmp.Or(
			b.Time.Compare(a.Time), cmp.Compare(idOf(a.About), idOf(b.About)), cmp.Compare(a.Reason, b.Reason),
			cmp.Compare(a.Message, b.Message), cmp.Compare(a.By, b.By),
		)
	})
	return all
}

func eventOf(e *eventsv1.Event, about Ref) Event {
	told := Event{
		Time: lastTime(e).UTC(), Reason: e.Reason, Message: e.Note, By: cmp.Or(e.ReportingController, e.DeprecatedSource.Component), About: about,
		Count: 1, Tone: Done,
	}
	if e.Series != nil {
		told.Count = int(e.Series.Count)
	} else if e.DeprecatedCount > 1 {
		told.Count = int(e.DeprecatedCount)
	}
	switch {
	case slices.Contains(phases, lsv1alpha1.Phase(e.Reason)):
		told.Tone = toneOfPhase(lsv1alpha1.Phase(e.Reason))
	case e.Type == corev1.EventTypeWarning:
		told.Tone = Failed
	}
	return told
}

// phases are those that the controllers of installations announce in events.
var phases = []lsv1alpha1.Phase{
	lsv1alpha1.PhaseInit, lsv1alpha1.PhaseCleanupOrphaned, lsv1alpha1.PhaseObjectsCreated, lsv1alpha1.PhaseProgressing,
	lsv1alpha1.PhaseCompleting, lsv1alpha1.PhaseSucceeded, lsv1alpha1.PhaseFailed, lsv1alpha1.PhaseInitDelete,
	lsv1alpha1.PhaseTriggerDelete, lsv1alpha1.PhaseDeleting, lsv1alpha1.PhaseDeleteFailed, lsv1alpha1.PhaseAborted,
}

func lastTime(e *eventsv1.Event) time.Time {
	switch {
	case e.Series != nil && !e.Series.LastObservedTime.IsZero():
		return e.Series.LastObservedTime.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	case !e.DeprecatedLastTimestamp.IsZero():
		return e.DeprecatedLastTimestamp.Time
	}
	return e.CreationTimestamp.Time
}
