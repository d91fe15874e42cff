// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package diagram draws directed graphs whose nodes may lie in groups: it lays them out from left to right, and writes them as SVG and in
// the languages of Graphviz and Mermaid. It is pure, and the same graph always gives the same drawing.
//
// The layout is layered. Each group is laid out by itself, the innermost first, and is then one box among others. Within a group, boxes
// that are connected form a block: their columns follow from the longest path to them, their order in a column from the mean position of
// their neighbours, and their heights from what straightens the lines most. A line that passes a column has a lane of its own there, and
// one that enters or leaves a group has a port in its border. So lines cross gaps only, and never a box.
package diagram

// Graph is what is drawn. A node with the ID of one before it is left out, and so is an edge from or to a node that there is not.
type Graph struct {
	// Title says what the graph shows, to those who cannot see it.
	Title string
	Nodes []Node
	Edges []Edge
}

// Node is a box, or a group if it is the parent of others.
type Node struct {
	ID string
	// Parent is the ID of the group it lies in. A node whose parent is not there, or lies inside of the node itself, lies in no group.
	Parent        string
	Title, Detail string
	// State is a word that says how it looks, such as done or failed. An unknown one is drawn plainly.
	State string
	// Side says at which end of what it is connected with it stands. Without one it stands where its lines are short.
	Side Side
}

// Side is an end of a drawing.
type Side int

// Nodes at the start are in the first column unless a line leads to them, and those at the end in the last unless one leads on.
const (
	Anywhere Side = iota
	Start
	End
)

// Edge goes from one node to another. Both may be groups, and one may lie in the other.
type Edge struct {
	From, To, Label string
	// State is empty, there, missing or cut. The label of an edge that is there is told only to those who point at it.
	State string
}

// There is the state of an edge that nobody has to care about.
const There = "there"

// Drawing is a graph with the place of everything, in pixels. Groups come before what lies in them.
type Drawing struct {
	Title         string
	Width, Height int
	Boxes         []Box
	Lines         []Line
}

// Box is the place of a node.
type Box struct {
	Node
	X, Y, Width, Height int
	// Group says that others lie in it.
	Group bool
}

// Line is the way of an edge. It begins and ends at a side of its boxes.
type Line struct {
	Edge
	// Path is the d attribute of an SVG path: cubic curves and horizontal lines, from left to right unless the edge closes a cycle.
	Path string
	// LabelX and LabelY are the middle of the foot of the label.
	LabelX, LabelY int
}

// The sizes of what is drawn, in pixels.
const (
	NodeWidth  = 148
	NodeHeight = 50

	columnGap    = 68  // between columns, for curves
	widestGap    = 280 // the same for long labels
	rowGap       = 38  // between boxes of a column
	laneGap      = 12  // between two lanes
	portGap      = 40  // between a border with ports and the next column
	padding      = 16  // inside of a group and around everything
	headerHeight = 36  // of a group, for its title
	blockGap     = 24  // between blocks
)

// Layout gives everything its place.
func (g Graph) Layout() Drawing {
	p := newPlan(g)
	p.layOut(page)
	drawing := Drawing{Title: g.Title, Width: p.frames[page].width, Height: p.frames[page].height}
	origins := p.origins()
	p.eachNode(page, func(n int) {
		box := Box{Node: p.nodes[n], X: origins[n].x, Y: origins[n].y, Width: NodeWidth, Height: NodeHeight, Group: p.isGroup(n)}
		if box.Group {
			box.Width, box.Height = p.frames[n].width, p.frames[n].height
		}
		drawing.Boxes = append(drawing.Boxes, box)
	})
	for _, r := range p.routes {
		drawing.Lines = append(drawing.Lines, p.line(r, origins))
	}
	return drawing
}
