// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"strings"

	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/get"
	"espalier.dev/internal/objecttree"
)

// view is what the screen shows of a state: as many lines as it has, none longer than it is wide.
func view(s state) string {
	if s.width <= 0 || s.height <= 0 {
		return ""
	}
	l := s.layout()
	var lines []string
	if l.title {
		lines = append(lines, s.printer.Paint(display.Cut(s.title(), s.width), display.Bold))
	}
	if l.rows > 0 || l.header {
		lines = append(lines, s.table(l)...)
	}
	below := s.paneView(l)
	if l.message {
		below = []string{s.message()}
	}
	for len(lines) < s.height-1-len(below) {
		lines = append(lines, "")
	}
	lines = append(lines, below...)
	for len(lines) < s.height-1 {
		lines = append(lines, "")
	}
	return strings.Join(append(lines[:s.height-1], s.bottom()), "\n")
}

func (s state) title() string {
	var text string
	switch top := s.node(s.opened); {
	case s.lists():
		text = "Installations in " + placeOf(s.namespace)
	case top == nil:
		text = s.opened.title() + " in " + placeOf(s.opened.namespace) + ": deleted"
	default:
		p := top.Progress()
		text = fmt.Sprintf("%s in %s: %d of %d deploy items finished", top.Title(), placeOf(top.Namespace()), p.Finished, p.All)
		if p.Failed > 0 {
			text += fmt.Sprintf(", %d failed", p.Failed)
		}
	}
	if s.unfinished {
		text = "Filtered (f): " + text
	}
	return display.Clean(text)
}

func placeOf(namespace string) string {
	if namespace == "" {
		return "all namespaces"
	}
	return "namespace " + namespace
}

// message is what is wrong with the selected object or what it waits for, of which the table shows the beginning.
func (s state) message() string {
	node := s.node(s.cursor)
	if node == nil {
		return ""
	}
	cell := display.MessageCell(node)
	return s.printer.Paint(display.Cut(cell.Text, s.width), cell.Style)
}

// gutter stands before each row: a mark for the selected object, and one for an object that hides what is below it.
const gutter = 3

// narrowest is the width from which tables fit: two columns with a character each, and the space between them.
const narrowest = gutter + 5

// table returns the rows that fit, below their header.
func (s state) table(l layout) []string {
	rows := s.rows()
	if len(rows) == 0 {
		return s.nothing(l)
	}
	printer := s.printer.Within(s.width-gutter, s.now)
	if s.width < narrowest {
		printer = printer.Colourless() // so that lines can be cut
	}
	table := printer.Fit(s.wholeTable(printer, rows))
	for i := range table.Rows[s.index] {
		table.Rows[s.index][i].Style = display.Plain // The line as a whole stands out.
	}
	aligned := printer.Align(table)
	var lines []string
	if l.header {
		lines = append(lines, s.cut(strings.Repeat(" ", gutter)+aligned[0]))
	}
	for i := s.offset; i < min(s.offset+l.rows, len(rows)); i++ {
		lines = append(lines, s.row(rows[i], i, aligned[i+1]))
	}
	return lines
}

func (s state) row(node *objecttree.Node, i int, text string) string {
	marks := []byte("   ")
	if !s.lists() && s.closed[refOf(node)] && len(node.Below) > 0 {
		marks[1] = '+'
	}
	if i != s.index {
		return s.cut(string(marks) + text)
	}
	marks[0] = '>'
	return s.printer.Paint(s.cut(string(marks)+text), display.Reverse)
}

// cut shortens a line of a table that cannot be made to fit.
func (s state) cut(line string) string {
	if s.width < narrowest {
		return display.Cut(line, s.width)
	}
	return line
}

func (s state) wholeTable(printer display.Printer, rows []*objecttree.Node) display.Table {
	if s.lists() {
		return get.Table(printer, rows, s.namespace == "", false)
	}
	return printer.Tree(rows[:1], display.TreeOptions{Wanted: s.shows})
}

// nothing says why there are no rows.
func (s state) nothing(l layout) []string {
	text := "There are no installations in " + placeOf(s.namespace) + "."
	switch {
	case !s.lists():
		text = s.opened.title() + " has been deleted. Press q to quit."
		if s.listed {
			text = s.opened.title() + " has been deleted. Press left to go back to the list."
		}
	case s.unfinished && len(s.forest.Tops) > 0:
		text = "Everything has succeeded. Press f to show all."
	}
	lines := display.Wrap([]string{text}, s.width)
	return lines[:min(len(lines), l.rows+1)]
}

// paneLines is the whole text of the pane.
func (s state) paneLines() []string {
	switch {
	case s.pane.kind == paneNone:
		return nil
	case s.pane.text == nil:
		return display.Wrap([]string{"Reading ..."}, s.width)
	}
	return display.Wrap(s.pane.text.Lines(s.printer.Within(s.width, s.now).Colourless()), s.width)
}

// paneView returns the title of the pane and the part of its text that fits.
func (s state) paneView(l layout) []string {
	if l.pane <= 0 {
		return nil
	}
	text := s.paneLines()
	shown := text[min(s.pane.scroll, len(text)):min(s.pane.scroll+l.pane-1, len(text))]
	title := "── " + s.paneTitle() + " "
	if len(shown) < len(text) {
		title += fmt.Sprintf("(lines %d to %d of %d; PgUp, PgDn) ", s.pane.scroll+1, s.pane.scroll+len(shown), len(text))
	}
	title += strings.Repeat("─", max(s.width-len([]rune(title)), 0))
	return append([]string{s.printer.Paint(display.Cut(title, s.width), display.Faint)}, shown...)
}

func (s state) paneTitle() string {
	switch s.pane.kind {
	case paneHelp:
		return "Keys"
	case paneWhy:
		return "Why: " + s.pane.about.title()
	case paneEvents:
		return "Events: " + s.pane.about.title()
	}
	return s.pane.title
}

// asking is the question that stands in the last line. It goes to an installation in either flow; only one of them has jobs.
func (s state) asking() string {
	about := s.question.about
	installation := "installation " + about.namespace + "/" + about.name
	if node := s.node(about); node != nil && node.Continuous() && s.question.verb == "interrupt" {
		return "y/n: abort the work on " + installation + "? It continues with a new spec or on request."
	}
	return "y/n: " + s.question.verb + " " + installation + "?"
}

// complaint is what is wrong with the connection, and what can be done about it.
func (s state) complaint() string {
	if !s.lost.denied {
		return "! No connection, retrying: " + s.lost.problem
	}
	const before, after = "! You may no longer read these objects: ", "; q quits"
	return before + display.Cut(display.Summary(s.lost.problem), s.width-len(before)-len(after)) + after
}

// hints are the keys that the last line shows, the more important first.
const hints = "? help  q quit  w why  e events  f filter  r reconcile  i interrupt  ↑↓←→ move"

// bottom is the last line: what needs an answer, then what is wrong, then what is new.
func (s state) bottom() string {
	var text string
	style := display.Plain
	switch {
	case s.question != (ask{}):
		text, style = s.asking(), display.Bold
	case s.lost.problem != "":
		text, style = s.complaint(), display.Red
	case s.notice != "":
		text = s.notice
	default:
		return s.printer.Paint(display.Cut(hints, s.width), display.Faint)
	}
	return s.printer.Paint(display.Cut(display.Summary(text), s.width), style)
}

// helpText lists the keys.
type helpText struct{}

var keys = display.Table{Header: []string{"KEY", "WHAT IT DOES"}, Rows: [][]display.Cell{
	{{Text: "up, down, j, k"}, {Text: "select an object; also Home and End"}},
	{{Text: "right, enter"}, {Text: "open the object, or the tree of an installation in the list"}},
	{{Text: "left"}, {Text: "close it, or go to the one above; at the top, to the list"}},
	{{Text: "f"}, {Text: "hide what has succeeded, or show it again"}},
	{{Text: "w"}, {Text: "why is the object not done? (espalier why); w again closes"}},
	{{Text: "e"}, {Text: "the events of the object; e again closes"}},
	{{Text: "PgUp, PgDn"}, {Text: "scroll the text below, or the rows"}},
	{{Text: "r"}, {Text: "request a job of the tree (espalier reconcile); asks first"}},
	{{Text: "i"}, {Text: "end the job of the tree (espalier interrupt); asks first"}},
	{{Text: "?"}, {Text: "show or close this help"}},
	{{Text: "esc"}, {Text: "close the text below, or quit"}},
	{{Text: "q, ctrl-c"}, {Text: "quit; jobs continue"}},
}}

// Lines implements content.
func (helpText) Lines(p display.Printer) []string { return p.Uncut().Align(keys) }
