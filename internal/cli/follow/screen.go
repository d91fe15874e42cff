// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"fmt"
	"slices"
	"time"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/objecttree"
)

// screen shows how the awaited installations get on.
type screen interface {
	draw(forest *objecttree.Forest)
	// note tells something beside the trees, until it is told otherwise; nothing means that it is over.
	note(text string)
	// finish shows the last state of things; it stays.
	finish(forest *objecttree.Forest)
}

func newScreen(w Wait) screen {
	trees := awaitedTrees{namespace: w.Namespace}
	for _, a := range w.Awaited {
		trees.names = append(trees.names, a.Name)
	}
	if _, _, terminal := w.Env.Size(w.Env.ErrOut); terminal && w.Env.Getenv("TERM") != "dumb" {
		return &live{awaitedTrees: trees, area: display.NewArea(w.Env, w.Env.ErrOut)}
	}
	return &lines{awaitedTrees: trees, env: w.Env, known: map[string]string{}}
}

// awaitedTrees are what a screen shows.
type awaitedTrees struct {
	namespace string
	names     []string
}

func (a awaitedTrees) tops(forest *objecttree.Forest) []*objecttree.Node {
	var tops []*objecttree.Node
	for _, name := range a.names {
		if node := forest.Installation(a.namespace, name); node != nil {
			tops = append(tops, node)
		}
	}
	return tops
}

// live redraws the trees in place.
type live struct {
	awaitedTrees
	area  *display.Area
	notes []string
}

func (l *live) draw(forest *objecttree.Forest) {
	l.area.Draw(l.tops(forest), l.notes)
}

func (l *live) note(text string) {
	l.notes = nil
	if text != "" {
		l.notes = []string{text}
	}
}

func (l *live) finish(forest *objecttree.Forest) {
	l.notes = nil
	l.area.Finish(l.tops(forest))
}

// lines prints a line for each change.
type lines struct {
	awaitedTrees
	env   cli.Environment
	known map[string]string
	noted string
}

func (l *lines) draw(forest *objecttree.Forest) {
	seen := map[string]string{}
	for _, top := range l.tops(forest) {
		top.Walk(func(node *objecttree.Node) {
			seen[node.Title()] = summary(node)
			if l.known[node.Title()] != seen[node.Title()] {
				l.print(node.Title() + " " + seen[node.Title()])
			}
		})
	}
	var gone []string
	for title := range l.known {
		if _, still := seen[title]; !still {
			gone = append(gone, title)
		}
	}
	slices.Sort(gone)
	for _, title := range gone {
		l.print(title + " is gone")
	}
	l.known = seen
}

func (l *lines) note(text string) {
	switch {
	case l.noted == text:
	case text == "":
		l.print("the connection is back")
	case l.noted == "": // Each attempt may fail in words of its own.
		l.print(text)
	}
	l.noted = text
}

func (l *lines) finish(forest *objecttree.Forest) { l.draw(forest) }

func (l *lines) print(text string) {
	fmt.Fprintf(l.env.ErrOut, "%s %s\n", l.env.Now().UTC().Format(time.RFC3339), text)
}

func summary(node *objecttree.Node) string {
	text := display.Clean(node.Phase())
	if message := display.Clean(node.Explain().Message); message != "" {
		text += ": " + message
	}
	return text
}
