// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/diagram"
	"espalier.dev/internal/objecttree"
)

// States of edges. The value of an edge without a state does not exist yet.
const (
	edgeThere   = "there"
	edgeMissing = "missing"
	edgeCut     = "cut"
)

// drawing is a graph under construction.
type drawing struct {
	tree   *tree
	rows   map[string]Row
	graph  diagram.Graph
	nodes  map[string]Node
	edges  map[[2]string]int
	inside map[string]bool
}

// graph draws the contents of an installation: nested installations and its own deploy items, with the values that they exchange. Nested
// installations that contain others are groups. What they deploy is on their own pages.
func (t *tree) graph(rows []Row) Graph {
	d := &drawing{
		tree: t, rows: make(map[string]Row, len(rows)), nodes: map[string]Node{}, edges: map[[2]string]int{}, inside: map[string]bool{},
		graph: diagram.Graph{Title: "What " + t.node.Name() + " contains"},
	}
	for _, row := range rows {
		d.rows[row.ID] = row
	}
	if d.lacks(t.node) {
		d.add(t.node, "")
	}
	d.contents(t.node, "")
	for _, below := range t.node.Below {
		if below.Kind == objecttree.Execution {
			for _, item := range below.Below {
				d.add(item, "")
			}
		}
	}
	for _, node := range slices.Clone(d.graph.Nodes) {
		d.connect(d.rows[node.ID], node.Parent)
	}
	return d.laidOut()
}

// lacks reports whether an installation has a missing import: then it is drawn itself, with what it waits for.
func (d *drawing) lacks(node *objecttree.Node) bool {
	row := d.rows[idOf(refOf(node))]
	return slices.ContainsFunc(row.Imports, func(v Value) bool { return v.State == valueMissing })
}

// contents adds the nested installations of an installation.
func (d *drawing) contents(node *objecttree.Node, parent string) {
	for _, nested := range installationsBelow(node) {
		id := d.add(nested, parent)
		d.contents(nested, id)
	}
}

func (d *drawing) add(node *objecttree.Node, parent string) string {
	row := d.rows[idOf(refOf(node))]
	n := Node{ID: row.ID, Title: row.Title, Detail: d.detail(node, row), Status: row.Status}
	d.nodes[n.ID] = n
	d.inside[n.ID] = true
	d.graph.Nodes = append(d.graph.Nodes, diagram.Node{
		ID: n.ID, Parent: parent, Title: n.Title, Detail: n.Detail, State: string(n.Status.Tone),
	})
	return n.ID
}

// detail returns how long an object took, or what it waits for.
func (d *drawing) detail(node *objecttree.Node, row Row) string {
	if row.Status.Tone != Done {
		return row.WaitsFor
	}
	for _, span := range slices.Backward(row.Spans) {
		if span.What == SpanWorks && span.End != nil {
			return lasted(span.End.Sub(row.worked()))
		}
	}
	return ""
}

// worked returns when work on an object started.
func (r Row) worked() time.Time {
	for _, span := range r.Spans {
		if span.What != SpanWaits {
			return span.Start
		}
	}
	return r.Spans[0].Start
}

// lasted formats a duration in its two largest units.
func lasted(d time.Duration) string {
	seconds := int(d.Round(time.Second) / time.Second)
	parts := []struct {
		size int
		unit string
	}{{24 * 3600, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}}
	var said []string
	for _, part := range parts {
		if count := seconds / part.size; count > 0 && len(said) < 2 {
			said = append(said, fmt.Sprintf("%d %s", count, part.unit))
			seconds -= count * part.size
		} else if len(said) > 0 {
			break
		}
	}
	if len(said) == 0 {
		return "0 s"
	}
	return strings.Join(said, " ")
}

// connect draws the edges to a node, from its values and its dependencies.
func (d *drawing) connect(row Row, parent string) {
	for _, value := range row.Imports {
		switch {
		case value.State == valueMissing && value.Source != nil:
			d.edge(d.ghost(value, parent), row.ID, value.Name, edgeMissing)
		case value.Giver != nil && d.inside[idOf(*value.Giver)] && idOf(*value.Giver) != parent:
			d.edge(idOf(*value.Giver), row.ID, value.Name, d.stateOf(value))
		}
	}
	if row.Ref.Kind == string(objecttree.DeployItem) {
		for _, id := range row.WaitedFor {
			d.edge(id, row.ID, "", d.dependency(d.node(id)))
		}
	}
}

// dependency returns the state of an edge from something that must be done first.
func (d *drawing) dependency(node *objecttree.Node) string {
	switch {
	case node == nil:
	case node.State() == objecttree.Succeeded:
		return edgeThere
	case d.tree.cut(node):
		return edgeCut
	}
	return ""
}

func (d *drawing) node(id string) *objecttree.Node {
	ref := d.rows[id].Ref
	return d.tree.relations.forest.Find(objecttree.Kind(ref.Kind), ref.Namespace, ref.Name)
}

func (d *drawing) stateOf(value Value) string {
	if giver := d.node(idOf(*value.Giver)); value.State != valueThere && giver != nil && d.tree.cut(giver) {
		return edgeCut
	}
	if value.State == valueThere {
		return edgeThere
	}
	return ""
}

// cut reports whether a failure keeps an object from being done: its own, or that of an object that it waits for.
func (t *tree) cut(node *objecttree.Node) bool {
	if known, ok := t.cuts[node]; ok {
		return known
	}
	t.cuts[node] = false // ends cycles
	found := node.State() == objecttree.Failed
	if !found && node.State() != objecttree.Succeeded {
		found = slices.ContainsFunc(t.before(node), t.cut)
	}
	t.cuts[node] = found
	return found
}

// ghost adds a missing source.
func (d *drawing) ghost(value Value, parent string) string {
	id := "missing/" + idOf(*value.Source)
	if _, known := d.nodes[id]; known {
		return id
	}
	title := value.Source.Name
	if hashed(*value.Source) {
		title = value.Name
	}
	n := Node{
		ID: id, Title: title, Detail: value.Source.Kind + ", not found", Ghost: true, Status: Status{Tone: Unknown, Word: "NotFound"},
	}
	d.nodes[id] = n
	d.graph.Nodes = append(d.graph.Nodes, diagram.Node{ID: id, Parent: parent, Title: title, Detail: n.Detail, State: "ghost"})
	return id
}

// hashed reports whether an object has a name that package dataflow generates for nested scopes, which mean nothing to people.
func hashed(source Ref) bool {
	return len(source.Name) == len(dataflow.ObjectName("", "A")) && source.Kind != "Secret" && source.Kind != "ConfigMap"
}

// edge adds an edge. Several values between the same two nodes share one, whose state is that of the worst.
func (d *drawing) edge(from, to, label, state string) {
	k := [2]string{from, to}
	at, known := d.edges[k]
	if !known {
		d.edges[k] = len(d.graph.Edges)
		d.graph.Edges = append(d.graph.Edges, diagram.Edge{From: from, To: to, Label: label, State: state})
		return
	}
	edge := &d.graph.Edges[at]
	if label != "" {
		edge.Label = strings.TrimPrefix(edge.Label+", "+label, ", ")
	}
	if slices.Index(badness, state) > slices.Index(badness, edge.State) {
		edge.State = state
	}
}

var badness = []string{edgeThere, "", edgeMissing, edgeCut}

func (d *drawing) laidOut() Graph {
	drawn := d.graph.Layout()
	g := Graph{Width: drawn.Width, Height: drawn.Height, Nodes: []Node{}, Edges: []Edge{}}
	for _, box := range drawn.Boxes {
		n := d.nodes[box.ID]
		n.X, n.Y, n.Width, n.Height, n.Group = box.X, box.Y, box.Width, box.Height, box.Group
		g.Nodes = append(g.Nodes, n)
	}
	for _, line := range drawn.Lines {
		g.Edges = append(g.Edges, NewEdge(line, false))
	}
	return g
}

// NewEdge returns the edge for a line of a drawing, which is for a target or for other values.
func NewEdge(line diagram.Line, target bool) Edge {
	return Edge{
		From: line.From, To: line.To, Label: line.Label, State: line.State, Path: line.Path, LabelX: line.LabelX, LabelY: line.LabelY,
		Target: target,
	}
}
