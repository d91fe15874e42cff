// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"time"

	"espalier.dev/internal/web/view"
)

const (
	// minimalBar is how many characters bars need to tell something, maximalBar how many they get.
	minimalBar, maximalBar = 20, 100
	// labelWidth is how far apart the labels of the axis are at least.
	labelWidth = 9
)

// scale places times in a number of characters.
type scale struct {
	start  time.Time
	length time.Duration
	width  int
	now    time.Time
}

// scale begins with the run and ends with the last object: in the continuous flow, one may be at work after the run has ended.
func (r report) scale(width int) scale {
	last := *r.Start
	if r.End == nil {
		last = r.now
	}
	for _, o := range r.Objects {
		switch {
		case o.Start == nil:
		case o.End == nil:
			last = later(last, r.now)
		default:
			last = later(last, *o.End)
		}
	}
	return scale{start: *r.Start, length: max(last.Sub(*r.Start), time.Second), width: width, now: r.now}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// place is the character that a time belongs to, from 0 to the width.
func (s scale) place(at time.Time) int {
	return int(min(max(at.Sub(s.start).Seconds()/s.length.Seconds(), 0), 1) * float64(s.width))
}

var glyphs = map[string]rune{view.SpanWaits: '·', view.SpanInit: '░', view.SpanWorks: '█'}

// bar draws the parts of a run. What was over before the run began is left out, and work is seen however short it was.
func (s scale) bar(parts []part) string {
	line := make([]rune, s.width)
	for i := range line {
		line[i] = ' '
	}
	end := 0
	for _, p := range parts {
		until := s.now
		if p.End != nil {
			until = *p.End
		}
		if until.Before(s.start) {
			continue
		}
		from, to := s.place(*p.Start), s.place(until)
		if p.What != view.SpanWaits {
			from = min(from, s.width-1)
			to = max(to, from+1)
		}
		for i := from; i < to; i++ {
			line[i] = glyphs[p.What]
		}
		end = max(end, to)
	}
	return string(line[:end])
}

// steps are the distances between labels that people are used to.
var steps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour,
}

// header is the axis: how long after the beginning of the run.
func (s scale) header() string {
	near := func(step time.Duration) bool { return step < s.length && s.place(s.start.Add(step)) < labelWidth }
	step := steps[0]
	for i := 0; near(step); i++ {
		if step *= 2; i+1 < len(steps) {
			step = steps[i+1]
		}
	}
	var line []rune
	for after := time.Duration(0); after < s.length; after += step {
		at := s.place(s.start.Add(after))
		label := []rune(short(after))
		if at < len(line) || at+len(label) > s.width {
			break
		}
		for len(line) < at {
			line = append(line, ' ')
		}
		line = append(line, label...)
	}
	return string(line)
}
