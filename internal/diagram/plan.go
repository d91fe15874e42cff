// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package diagram

// page is the index of the outermost frame; nodes have indexes from 1. It also stands for "no node".
const page = 0

type point struct{ x, y int }

// route is an edge to be drawn, from its left end to its right end.
type route struct {
	Edge
	left, right int
	// reversed reports whether the edge goes from right to left, because it closes a cycle.
	reversed bool
	// home is the innermost frame that contains both ends, or the end that contains the other one.
	home int
	// frames are those in which it has a piece, from left to right; pieces are relative to their frames.
	frames []int
	pieces map[int][]point
}

// link is a route in one frame. An end that is page is in the border of the frame.
type link struct {
	route    *route
	from, to int
	// home reports whether the frame is the home of the route, where it has its label.
	home bool
}

// frame is a group, or the page, with the positions of its contents relative to its corner.
type frame struct {
	index         int
	width, height int
	spots         map[int]point
	// in and out are the heights at which routes cross the left and the right border.
	in, out map[*route]int
}

type plan struct {
	nodes   []Node
	parent  []int
	depth   []int
	members [][]int
	routes  []*route
	links   [][]link
	frames  []*frame
}

func newPlan(g Graph) *plan {
	p := &plan{nodes: []Node{{}}}
	index := map[string]int{}
	for _, n := range g.Nodes {
		if _, there := index[n.ID]; !there {
			index[n.ID] = len(p.nodes)
			p.nodes = append(p.nodes, n)
		}
	}
	p.nest(index)
	p.frames = make([]*frame, len(p.nodes))
	p.links = make([][]link, len(p.nodes))
	for _, e := range g.Edges {
		from, to := index[e.From], index[e.To]
		if from != page && to != page {
			p.routes = append(p.routes, &route{Edge: e, left: from, right: to, home: p.home(from, to), pieces: map[int][]point{}})
		}
	}
	p.breakCycles()
	for _, r := range p.routes {
		if r.left != r.right {
			p.divide(r)
		}
	}
	return p
}

// nest determines the parent of each node.
func (p *plan) nest(index map[string]int) {
	p.parent = make([]int, len(p.nodes))
	p.depth = make([]int, len(p.nodes))
	p.members = make([][]int, len(p.nodes))
	for n := 1; n < len(p.nodes); n++ {
		above := index[p.nodes[n].Parent]
		if p.nodes[n].Parent != "" && !p.holds(n, above) {
			p.parent[n] = above
		}
	}
	for n := 1; n < len(p.nodes); n++ {
		p.members[p.parent[n]] = append(p.members[p.parent[n]], n)
	}
	p.eachNode(page, func(n int) { p.depth[n] = p.depth[p.parent[n]] + 1 })
}

// holds reports whether inner is outer or inside it.
func (p *plan) holds(outer, inner int) bool {
	for inner != outer && inner != page {
		inner = p.parent[inner]
	}
	return inner == outer
}

func (p *plan) isGroup(n int) bool { return len(p.members[n]) > 0 }

// eachNode visits the contents of a frame, groups before their contents.
func (p *plan) eachNode(f int, visit func(int)) {
	for _, n := range p.members[f] {
		visit(n)
		p.eachNode(n, visit)
	}
}

func (p *plan) home(a, b int) int {
	for p.depth[a] > p.depth[b] {
		a = p.parent[a]
	}
	for p.depth[b] > p.depth[a] {
		b = p.parent[b]
	}
	if a == b {
		return a
	}
	for p.parent[a] != p.parent[b] {
		a, b = p.parent[a], p.parent[b]
	}
	return p.parent[a]
}

// member returns the node in a frame that is n or contains it; page if n is the frame itself.
func (p *plan) member(f, n int) int {
	if n == f {
		return page
	}
	for p.parent[n] != f {
		n = p.parent[n]
	}
	return n
}

// breakCycles reverses routes that lead back to a box from which they can be reached. Only routes with the same home can form a cycle,
// because in other frames they lead to a border.
func (p *plan) breakCycles() {
	after := make([][]*route, len(p.nodes))
	for _, r := range p.routes {
		if from, to := p.member(r.home, r.left), p.member(r.home, r.right); from != page && to != page {
			after[from] = append(after[from], r)
		}
	}
	const onPath, finished = 1, 2
	state := make([]int, len(p.nodes))
	var visit func(n int)
	visit = func(n int) {
		state[n] = onPath
		for _, r := range after[n] {
			next := p.member(r.home, r.right)
			switch state[next] {
			case onPath:
				r.left, r.right, r.reversed = r.right, r.left, true
			case finished:
			default:
				visit(next)
			}
		}
		state[n] = finished
	}
	for n := 1; n < len(p.nodes); n++ {
		if state[n] == 0 {
			visit(n)
		}
	}
}

// divide splits a route into links: up from its left end to the borders of the groups around it, across, and down to its right end.
func (p *plan) divide(r *route) {
	add := func(f int, l link) {
		l.route = r
		p.links[f] = append(p.links[f], l)
	}
	if r.left != r.home {
		for n := r.left; p.parent[n] != r.home; n = p.parent[n] {
			add(p.parent[n], link{from: n})
			r.frames = append(r.frames, p.parent[n])
		}
	}
	add(r.home, link{from: p.member(r.home, r.left), to: p.member(r.home, r.right), home: true})
	r.frames = append(r.frames, r.home)
	if r.right == r.home {
		return
	}
	var down []int
	for n := r.right; p.parent[n] != r.home; n = p.parent[n] {
		add(p.parent[n], link{to: n})
		down = append(down, p.parent[n])
	}
	for i := len(down) - 1; i >= 0; i-- {
		r.frames = append(r.frames, down[i])
	}
}

// layOut computes the positions in a frame, and the size of the frame.
func (p *plan) layOut(f int) {
	for _, n := range p.members[f] {
		if p.isGroup(n) {
			p.layOut(n)
		}
	}
	own := &frame{index: f, spots: map[int]point{}, in: map[*route]int{}, out: map[*route]int{}}
	p.frames[f] = own
	top := padding
	if f != page {
		top = headerHeight
	}
	own.pack(p.blocks(f), top)
}

// origins returns the corner of each node on the page.
func (p *plan) origins() []point {
	result := make([]point, len(p.nodes))
	p.eachNode(page, func(n int) {
		around, spot := result[p.parent[n]], p.frames[p.parent[n]].spots[n]
		result[n] = point{around.x + spot.x, around.y + spot.y}
	})
	return result
}

func (p *plan) size(n int) (width, height int) {
	if p.isGroup(n) {
		return p.frames[n].width, p.frames[n].height
	}
	return NodeWidth, NodeHeight
}
