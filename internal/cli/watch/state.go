// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"time"

	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/objecttree"
)

// ref tells objects apart.
type ref struct {
	kind            objecttree.Kind
	namespace, name string
}

func refOf(node *objecttree.Node) ref { return ref{node.Kind, node.Namespace(), node.Name()} }

func (r ref) title() string { return string(r.kind) + "/" + r.name }

// state is all that the screen depends on. It is a value: update returns a new one.
type state struct {
	// printer knows whether there are colours.
	printer       display.Printer
	width, height int
	now           time.Time
	// namespace is the one that is watched; empty for all.
	namespace string
	forest    *objecttree.Forest
	// opened is the installation whose tree is shown; nothing while all installations are listed.
	opened ref
	// listed says that the user came from the list, and can go back to it.
	listed bool
	closed map[ref]bool
	// unfinished leaves out what has succeeded.
	unfinished bool
	// cursor is the selected object, index its row, and offset the first row on the screen.
	cursor        ref
	index, offset int
	pane          pane
	question      ask
	// sent is the request that has not been answered, and told what was said about it so far.
	sent ask
	told []string
	// leaving says that the user wanted to quit before that answer.
	leaving bool
	// lost is what is wrong with the connection, and notice something else to tell.
	lost   connection
	notice string
}

// paneKind is what the lower part of the screen shows.
type paneKind string

const (
	paneNone   paneKind = ""
	paneWhy    paneKind = "why"
	paneEvents paneKind = "events"
	paneReport paneKind = "report"
	paneHelp   paneKind = "help"
)

// content is a text that adapts to the width of the screen.
type content interface {
	Lines(display.Printer) []string
}

// plain is a text that does not.
type plain []string

// Lines implements content.
func (p plain) Lines(display.Printer) []string { return p }

// pane is a text in the lower part of the screen.
type pane struct {
	kind  paneKind
	about ref
	// title is that of a report.
	title string
	// text is nil until it was read.
	text   content
	scroll int
	// reading says that the text is being read, and stale that objects have changed since that began.
	reading, stale bool
	// readAt is when the text was read.
	readAt time.Time
}

// Messages are what happens.
type (
	// pressed is a key.
	pressed string
	// resized is the size of the terminal.
	resized struct{ width, height int }
	// ticked is the time.
	ticked time.Time
	// grown are the objects as they are now.
	grown struct{ forest *objecttree.Forest }
	// connection is why there is none; empty if there is one again. Once the server has denied the right to read, retrying does not help.
	connection struct {
		problem string
		denied  bool
	}
	// noted is something that a library or a request in progress has to say.
	noted string
	// looked is the answer to a look.
	looked struct {
		look
		text content
		err  error
	}
	// asked is the answer to an ask.
	asked struct {
		said string
		err  error
	}
)

// effect is what is to be done outside the state.
type effect any

type (
	// look reads the text of a pane.
	look struct {
		kind  paneKind
		about ref
	}
	// ask sends a request: the verb is the name of the command that does the same.
	ask struct {
		verb  string
		about ref
	}
	quit    struct{}
	suspend struct{}
)

// node finds an object; nil if it does not exist.
func (s state) node(r ref) *objecttree.Node { return s.forest.Find(r.kind, r.namespace, r.name) }

// lists reports whether all installations are listed, instead of the tree of one.
func (s state) lists() bool { return s.opened == ref{} }

// tops are the objects at the top of the screen: all installations, or the one whose tree is shown, if it exists.
func (s state) tops() []*objecttree.Node {
	if s.lists() {
		return s.forest.Tops
	}
	if top := s.node(s.opened); top != nil {
		return []*objecttree.Node{top}
	}
	return nil
}

// shows reports whether an object has a row, provided that the one above it has one.
func (s state) shows(node *objecttree.Node) bool {
	if refOf(node) == s.opened {
		return true
	}
	if !s.lists() && node.Above != nil && s.closed[refOf(node.Above)] {
		return false
	}
	return !s.unfinished || isUnfinished(node)
}

// isUnfinished reports whether an object, or one below it, has not succeeded.
func isUnfinished(node *objecttree.Node) bool {
	found := false
	node.Walk(func(below *objecttree.Node) { found = found || below.State() != objecttree.Succeeded })
	return found
}

// rows are the objects on the screen, from above.
func (s state) rows() []*objecttree.Node {
	var rows []*objecttree.Node
	for _, top := range s.tops() {
		rows = s.addRows(rows, top)
	}
	return rows
}

func (s state) addRows(rows []*objecttree.Node, node *objecttree.Node) []*objecttree.Node {
	if !s.shows(node) {
		return rows
	}
	rows = append(rows, node)
	if s.lists() {
		return rows
	}
	for _, below := range node.Below {
		rows = s.addRows(rows, below)
	}
	return rows
}

// layout divides the screen.
type layout struct {
	// message is a line for what the table cuts off of the message of the selected object.
	title, header, message bool
	// rows and pane are numbers of lines; that of the pane includes its title.
	rows, pane int
}

const (
	// titleFrom and headerFrom are the heights of the smallest screens with a title and a header.
	titleFrom  = 6
	headerFrom = 4
	// messageFrom is that of the smallest one with a line for a message.
	messageFrom = 8
	// paneFrom is how many lines are left on the smallest screen that shows both rows and a pane.
	paneFrom = 6
)

func (s state) layout() layout {
	l := layout{title: s.height >= titleFrom, header: s.height >= headerFrom}
	rest := s.height - 1 // The last line is always there.
	if l.title {
		rest--
	}
	switch {
	case s.pane.kind == paneNone:
		if l.message = s.height >= messageFrom; l.message {
			rest--
		}
	case s.pane.kind == paneHelp || rest < paneFrom:
		l.header, l.pane = false, max(rest, 0)
		return l
	default:
		l.pane = rest / 2
	}
	if l.header {
		rest--
	}
	l.rows = max(rest-l.pane, 0)
	return l
}
