// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package diagram draws directed graphs whose nodes may be in groups: it lays them out from left to right, and writes them as SVG and in
// the languages of Graphviz and Mermaid. It is pure, and the same graph always results in the same drawing.
//
// The layout is layered. Each group is laid out separately, the innermost first, and is then one box among others. Within a group,
// connected boxes form a block: their columns follow from the longest path to them, their order in a column from the mean position of their
// neighbours, and their heights from what straightens the lines most. A line that passes a column has a separate lane there, and one that
// enters or leaves a group has a port in its border. So lines cross only gaps, and never a box.
package diagram

// Graph is the input of a drawing. Nodes with a duplicate ID are omitted, and so are edges from or to missing nodes.
type Graph struct {
	// Title describes the graph for people who cannot see it.
	Title string
	Nodes []Node
	Edges []Edge
}

// Node is a box, or a group if it is the parent of others.
type Node struct {
	ID string
	// Parent is the ID of its group. A node is in no group if its parent is missing, or inside the node itself.
	Parent        string
	Title, Detail string
	// State is a word that determines the style, such as done or failed. An unknown one has a plain style.
	State string
	// Side places the node at an end of what it is connected with. Without it, the node is placed where its lines are short.
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

// Edge goes from one node to another. Both may be groups, and one may be inside the other.
type Edge struct {
	From, To, Label string
	// State is empty, there, missing or cut. The label of an edge that is there appears only on hover.
	State string
}

// There is the state of an edge that needs no attention.
const There = "there"

// Drawing is a graph with all positions, in pixels. Groups come before their contents.
type Drawing struct {
	Title         string
	Width, Height int
	Boxes         []Box
	Lines         []Line
}

// Box is the position of a node.
type Box struct {
	Node
	X, Y, Width, Height int
	// Group reports whether it contains others.
	Group bool
}

// Line is the path of an edge. It starts and ends at a side of its boxes.
type Line struct {
	Edge
	// Path is the d attribute of an SVG path: cubic curves and horizontal lines, from left to right unless the edge closes a cycle.
	Path string
	// LabelX and LabelY are the middle of the label's bottom edge.
	LabelX, LabelY int
}

// Sizes, in pixels.
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

// Layout computes all positions.
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
