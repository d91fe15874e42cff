// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/objecttree"
)

// update is what a message makes of a state, and what is to be done.
func update(s state, message any) (state, []effect) {
	var effects []effect
	switch m := message.(type) {
	case pressed:
		s, effects = press(s, string(m))
	case resized:
		s.width, s.height = m.width, m.height
	case ticked:
		s.now = time.Time(m)
		s, effects = refresh(s)
	case grown:
		s.forest, s.pane.stale = m.forest, true
	case connection:
		s.lost = m
		s.pane.stale = s.pane.stale || m.problem == ""
	case noted:
		s.notice = string(m)
		if s.sent != (ask{}) {
			s.told = slices.Concat(s.told, []string{string(m)})
		}
	case looked:
		s = show(s, m)
	case asked:
		s = conclude(s, m)
	}
	return settle(s), effects
}

// rereading is how long the text of a pane is shown at least: an answer may need a list of all objects.
const rereading = 5 * time.Second

// refresh reads the text of the pane again if it is old and may have changed. Events come without a change of an object.
func refresh(s state) (state, []effect) {
	wanted := s.pane.kind == paneWhy && s.pane.stale || s.pane.kind == paneEvents
	if !wanted || s.pane.reading || s.now.Sub(s.pane.readAt) < rereading {
		return s, nil
	}
	s.pane.reading, s.pane.stale = true, false
	return s, []effect{look{s.pane.kind, s.pane.about}}
}

// show takes in a text, unless the user has turned to something else.
func show(s state, m looked) state {
	if m.kind != s.pane.kind || m.about != s.pane.about {
		return s
	}
	s.pane.reading, s.pane.readAt, s.pane.text = false, s.now, m.text
	if m.err != nil {
		s.pane.text = plain(linesOf(m.err))
	}
	return s
}

// conclude tells what has become of a request: in the last line if it is a sentence, otherwise in a pane.
func conclude(s state, m asked) state {
	report := s.told
	if m.err != nil {
		report = slices.Concat(report, linesOf(m.err))
	} else if len(report) > 0 {
		report = slices.Concat(report, []string{display.Clean(m.said)})
	}
	s.notice = m.said
	if len(report) > 0 {
		s.notice = ""
		s.pane = pane{kind: paneReport, title: s.sent.verb + " " + s.sent.about.title(), about: s.sent.about, text: plain(report)}
	}
	s.sent, s.told, s.leaving = ask{}, nil, false
	return s
}

func linesOf(err error) []string {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		lines = append(lines, strings.ReplaceAll(display.Verbatim(strings.TrimRight(line, "\r\n")), "\t", " "))
	}
	return lines
}

// settle brings the rows in line with the objects: the selected one is visible. If it has gone, the one in its place is selected.
func settle(s state) state {
	rows := s.rows()
	index := -1
	for i, node := range rows {
		if refOf(node) == s.cursor {
			index = i
		}
	}
	if index < 0 {
		index = min(s.index, len(rows)-1)
	}
	s.index, s.cursor = max(index, 0), ref{}
	if index >= 0 {
		s.cursor = refOf(rows[index])
	}
	l := s.layout()
	s.offset = min(s.offset, max(len(rows)-l.rows, 0), s.index)
	s.offset = max(s.offset, s.index-max(l.rows, 1)+1)
	s.pane.scroll = max(0, min(s.pane.scroll, len(s.paneLines())-(l.pane-1)))
	return s
}

// binding is what a key does.
type binding func(state) (state, []effect)

// only is a binding that changes nothing but the screen.
func only(change func(state) state) binding {
	return func(s state) (state, []effect) { return change(s), nil }
}

func moves(by int) binding { return only(func(s state) state { return move(s, by) }) }

func asks(verb string) binding { return only(func(s state) state { return question(s, verb) }) }

func inspects(kind paneKind) binding {
	return func(s state) (state, []effect) { return inspect(s, kind) }
}

func does(e effect) binding {
	return func(s state) (state, []effect) { return s, []effect{e} }
}

var bindings = map[string]binding{
	"up": moves(-1), "k": moves(-1), "down": moves(1), "j": moves(1), "home": moves(-farAway), "end": moves(farAway),
	"pgup": only(func(s state) state { return page(s, -1) }), "pgdown": only(func(s state) state { return page(s, 1) }),
	"enter": only(open), "right": only(open), "l": only(open), "left": only(closeNode), "h": only(closeNode), "backspace": only(back),
	"f": only(filter), "w": inspects(paneWhy), "e": inspects(paneEvents), "r": asks("reconcile"), "i": asks("interrupt"), "?": only(help),
	"q": leave, "ctrl+c": does(quit{}), "esc": escape, "ctrl+z": does(suspend{}),
}

// farAway is further than any row.
const farAway = 1 << 30

func press(s state, key string) (state, []effect) {
	s.notice = ""
	if s.question != (ask{}) && key != "ctrl+c" {
		return reply(s, key)
	}
	if bound := bindings[key]; bound != nil {
		return bound(s)
	}
	return s, nil
}

// reply answers a question. Everything but yes means no.
func reply(s state, key string) (state, []effect) {
	wanted := s.question
	s.question = ask{}
	if key != "y" && key != "Y" {
		s.notice = "Not sent: " + wanted.verb + " " + wanted.about.title()
		return s, nil
	}
	s.sent, s.notice = wanted, fmt.Sprintf("Sending: %s %s", wanted.verb, wanted.about.title())
	return s, []effect{wanted}
}

// question asks whether a request is meant. It goes to the root of the tree, as jobs run through whole trees.
func question(s state, verb string) state {
	if s.sent != (ask{}) {
		s.notice = fmt.Sprintf("Wait for the answer to %s %s", s.sent.verb, s.sent.about.title())
		return s
	}
	node := s.node(s.cursor)
	if node == nil {
		return s
	}
	s.question = ask{verb: verb, about: refOf(node.Top())}
	return s
}

// move selects another row. While the help covers the rows, it scrolls that.
func move(s state, by int) state {
	if s.layout().rows == 0 && s.pane.kind != paneNone {
		s.pane.scroll += by
		return s
	}
	rows := s.rows()
	if len(rows) > 0 {
		s.index = max(0, min(s.index+by, len(rows)-1))
		s.cursor = refOf(rows[s.index])
	}
	return s
}

// page scrolls the pane, or moves by a screen if there is none.
func page(s state, direction int) state {
	l := s.layout()
	if s.pane.kind == paneNone {
		return move(s, direction*max(l.rows-1, 1))
	}
	s.pane.scroll += direction * max(l.pane-2, 1)
	return s
}

// open shows the tree of an installation, or what is below an object; if it is open, it selects the first of these.
func open(s state) state {
	node := s.node(s.cursor)
	if node == nil {
		return s
	}
	if s.lists() {
		s.opened, s.listed = s.cursor, true
		s.index, s.offset, s.pane = 0, 0, pane{}
		return s
	}
	if s.closed[s.cursor] {
		s.closed = maps.Clone(s.closed)
		delete(s.closed, s.cursor)
		return s
	}
	if below := s.firstBelow(node); below != nil {
		s.cursor = refOf(below)
	}
	return s
}

func (s state) firstBelow(node *objecttree.Node) *objecttree.Node {
	for _, below := range node.Below {
		if s.shows(below) {
			return below
		}
	}
	return nil
}

// closeNode hides what is below an object. If nothing is, it selects the one above, and goes back to the list from the top.
func closeNode(s state) state {
	node := s.node(s.cursor)
	if s.lists() {
		return s
	}
	if node == nil {
		return back(s)
	}
	if !s.closed[s.cursor] && len(node.Below) > 0 {
		s.closed = maps.Clone(s.closed)
		if s.closed == nil {
			s.closed = map[ref]bool{}
		}
		s.closed[s.cursor] = true
		return s
	}
	if s.cursor == s.opened || node.Above == nil {
		return back(s)
	}
	s.cursor = refOf(node.Above)
	return s
}

// back returns to the list, if the user came from there.
func back(s state) state {
	if s.listed && !s.lists() {
		s.cursor, s.opened, s.pane = s.opened, ref{}, pane{}
	}
	return s
}

func filter(s state) state {
	s.unfinished = !s.unfinished
	return s
}

// inspect shows the text about the selected object, or closes it if it is there.
func inspect(s state, kind paneKind) (state, []effect) {
	if s.pane.kind == kind && (s.pane.about == s.cursor || s.cursor == ref{}) {
		s.pane = pane{}
		return s, nil
	}
	if (s.cursor == ref{}) {
		return s, nil
	}
	s.pane = pane{kind: kind, about: s.cursor, reading: true}
	return s, []effect{look{kind, s.cursor}}
}

func help(s state) state {
	if s.pane.kind == paneHelp {
		s.pane = pane{}
		return s
	}
	s.pane = pane{kind: paneHelp, text: helpText{}}
	return s
}

// escape closes the pane, or ends the program if there is none.
func escape(s state) (state, []effect) {
	if s.pane.kind != paneNone {
		s.pane = pane{}
		return s, nil
	}
	return leave(s)
}

// leave ends the program. If a request was not answered yet, it says so first: nobody would learn whether the request was sent.
func leave(s state) (state, []effect) {
	if s.sent == (ask{}) || s.leaving {
		return s, []effect{quit{}}
	}
	s.leaving, s.notice = true, fmt.Sprintf("Waiting for the answer to %s %s; q again quits", s.sent.verb, s.sent.about.title())
	return s, nil
}
