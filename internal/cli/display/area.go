// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"io"
	"strings"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/objecttree"
)

// Area is the part of a terminal, at its lower end, in which trees are redrawn.
type Area struct {
	env   cli.Environment
	w     io.Writer
	drawn []string
}

// NewArea returns an area that is empty yet.
func NewArea(env cli.Environment, w io.Writer) *Area { return &Area{env: env, w: w} }

// Draw replaces what the area shows. If the trees do not fit the terminal, what has succeeded is left out first.
func (a *Area) Draw(tops []*objecttree.Node, notes []string) {
	printer := To(a.env, a.w)
	lines := printer.narrow(printer.Tree(tops, TreeOptions{}))
	room := printer.height - 1 - len(notes)
	if len(lines) > room {
		lines = printer.narrow(printer.Tree(tops, TreeOptions{Wanted: unfinished}))
	}
	if len(lines) > room && room > 1 {
		left := len(lines) - room + 1
		lines = append(lines[:room-1], Cut(fmt.Sprintf("... and %d more", left), printer.width))
	}
	for _, note := range notes {
		lines = append(lines, Cut(note, printer.width))
	}
	a.replace(lines)
}

// narrow returns the lines of a table, none wider than the terminal: the terminal would wrap it, and the cursor would not find its start.
func (p Printer) narrow(t Table) []string { return p.Align(p.Fit(t)) }

// unfinished keeps what has not succeeded, and the roots.
func unfinished(node *objecttree.Node) bool {
	return node.Above == nil || node.State() != objecttree.Succeeded
}

// Finish draws the trees a last time, in full.
func (a *Area) Finish(tops []*objecttree.Node) {
	printer := To(a.env, a.w)
	a.replace(printer.Align(printer.Tree(tops, TreeOptions{})))
	a.drawn = nil
}

// replace moves the cursor to the start of the area and redraws it, unless nothing would change.
func (a *Area) replace(lines []string) {
	text := strings.Join(lines, "\n")
	if text == strings.Join(a.drawn, "\n") {
		return
	}
	var out strings.Builder
	if len(a.drawn) > 0 {
		fmt.Fprintf(&out, "\x1b[%dA\x1b[J", len(a.drawn))
	}
	out.WriteString(text + "\n")
	// A terminal that does not take it cannot be told so.
	_, _ = io.WriteString(a.w, out.String())
	a.drawn = lines
}
