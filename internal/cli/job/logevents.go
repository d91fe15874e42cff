// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"fmt"
	"slices"
	"time"

	eventsv1 "k8s.io/api/events/v1"

	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/web/view"
)

// eventLines are the events about the objects that were found, since the time that the flags say, in the order of their times: a line for
// each Event, and another one when that was seen again. What was returned before is left out. The error says why events may be missing.
func (s *session) eventLines(ctx context.Context, all *found) ([]line, error) {
	if !s.options.events {
		return nil, nil
	}
	events, err := ReadEvents(ctx, s.options.access, s.finder.connection.Namespace)
	if ctx.Err() != nil {
		err = nil // The user has interrupted the command.
	}
	begin := s.begin(all)
	wanted := map[view.Ref]bool{}
	for _, about := range all.objects {
		wanted[about] = true
	}
	var lines []line
	for _, event := range events {
		if about := (view.Ref{Kind: event.Regarding.Kind, Namespace: event.Regarding.Namespace, Name: event.Regarding.Name}); wanted[about] {
			lines = append(lines, s.linesOf(event, about, begin)...)
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return a.at.Compare(b.at) })
	return lines, err
}

// begin is the time since when the flags want lines.
func (s *session) begin(all *found) time.Time {
	if s.options.since > 0 {
		return s.options.env.Now().Add(-s.options.since)
	}
	return all.begun.Truncate(time.Second) // Some events know no more than seconds.
}

// linesOf returns the line of an Event, unless it is older than a time or was returned before.
func (s *session) linesOf(event *eventsv1.Event, about view.Ref, begin time.Time) []line {
	var lines []line
	// Alone, an Event is not counted together with others that say the same.
	for _, e := range (view.Scene{Events: []*eventsv1.Event{event}}).EventsAbout(about) {
		if e.Time.Before(begin) || !e.Time.After(s.toldEvents[event.UID]) {
			continue
		}
		s.toldEvents[event.UID] = e.Time
		text := display.Clean(e.Reason + ": " + e.Message)
		if e.Count > 1 {
			text += fmt.Sprintf(" (%d times)", e.Count)
		}
		lines = append(lines, line{at: e.Time, text: text, title: "event " + about.Kind + "/" + about.Name})
	}
	return lines
}

// lackOfEvents is the complaint that events may be missing.
func (s *session) lackOfEvents(err error) string {
	return fmt.Sprintf("cannot list the events of namespace %s: %v", s.finder.connection.Namespace, err)
}

// printEvents prints the events that were not printed before.
func (f *follower) printEvents(ctx context.Context, all *found) error {
	lines, err := f.eventLines(ctx, all)
	for _, l := range lines {
		if f.print(source{}, l) != nil {
			break
		}
	}
	return err
}

// printNew prints events, and lines of the controllers, before the end: what cannot be read now is read the next time.
func (f *follower) printNew(ctx context.Context, all *found) {
	if err := f.printEvents(ctx, all); err != nil {
		f.note(fmt.Sprintf("cannot list the events of namespace %s, retrying: %v", f.finder.connection.Namespace, err))
	}
	for _, problem := range f.printControllers(ctx, all) {
		f.note("retrying: " + problem)
	}
}

// printLast prints events, and lines of the controllers, at the end.
func (f *follower) printLast(ctx context.Context, all *found) {
	if err := f.printEvents(ctx, all); err != nil {
		f.complain(f.lackOfEvents(err))
	}
	f.complain(f.printControllers(ctx, all)...)
}

// streamOf is a stream of lines that are all known.
func streamOf(lines []line) chan line {
	stream := make(chan line, len(lines))
	for _, l := range lines {
		stream <- l
	}
	close(stream)
	return stream
}
