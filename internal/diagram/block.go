// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package diagram

import (
	"cmp"
	"slices"
)

// cell is something in a column: a node, the lane of a passing line, or a port in the border.
type cell struct {
	node          int // page for a lane or a port
	width, height int
	column, slot  int
	top           int
	before, after []int // seams
}

// seam joins two cells of neighbouring columns. Offsets are the heights at which it meets them, relative to their tops; at ports of groups,
// they are fixed.
type seam struct {
	from, to             int
	fromOffset, toOffset int
	fromFixed, toFixed   bool
}

// strand is a link within a block: the cells that it passes, and the seams between these. If there are too many strands for separate lanes,
// it has no seams and is a straight line.
type strand struct {
	link
	cells, seams []int
	// fromOffset and toOffset are the heights at which it meets its ends, if it has no seams.
	fromOffset, toOffset int
}

// block is a connected part of a frame.
type block struct {
	cells         []cell
	seams         []seam
	strands       []strand
	columns       [][]int
	lefts, widths []int // of columns
	// portsLeft and portsRight report whether the first and the last column are ports.
	portsLeft, portsRight bool
	width, height         int
}

// mostLanes bounds the work for graphs with very many long edges.
const mostLanes = 30_000

// blocks divides a frame into its connected parts: first those with lines, then single nodes, each in the order of the graph.
func (p *plan) blocks(f int) []*block {
	group := map[int]int{}
	var find func(n int) int
	find = func(n int) int {
		if group[n] != n {
			group[n] = find(group[n])
		}
		return group[n]
	}
	for _, n := range p.members[f] {
		group[n] = n
	}
	for _, l := range p.links[f] {
		if l.from != page && l.to != page {
			a, b := find(l.from), find(l.to)
			group[max(a, b)] = min(a, b)
		}
	}
	members, links := map[int][]int{}, map[int][]link{}
	for _, n := range p.members[f] {
		members[find(n)] = append(members[find(n)], n)
	}
	for _, l := range p.links[f] {
		part := find(max(l.from, l.to))
		links[part] = append(links[part], l)
	}
	var connected, single []*block
	for _, n := range p.members[f] {
		if find(n) != n {
			continue
		}
		b := p.block(members[n], links[n])
		if len(links[n]) > 0 {
			connected = append(connected, b)
		} else {
			single = append(single, b)
		}
	}
	return append(connected, single...)
}

// block lays out nodes that are connected by links.
func (p *plan) block(members []int, links []link) *block {
	b := &block{}
	for _, l := range links {
		b.portsLeft = b.portsLeft || l.from == page
		b.portsRight = b.portsRight || l.to == page
	}
	columns := p.ranks(members, links)
	last := 0
	cells := map[int]int{}
	for _, n := range members {
		column := columns[n]
		if b.portsLeft {
			column++
		}
		last = max(last, column)
		cells[n] = len(b.cells)
		width, height := p.size(n)
		b.cells = append(b.cells, cell{node: n, width: width, height: height, column: column})
	}
	if b.portsRight {
		last++
	}
	for _, l := range links {
		b.strands = append(b.strands, b.begin(l, cells, last))
	}
	b.columns = make([][]int, last+1)
	b.addLanes(p)
	b.order()
	b.place()
	b.attach()
	b.measure()
	return b
}

// begin returns a strand with its two ends.
func (b *block) begin(l link, cells map[int]int, last int) strand {
	port := func(column int) int {
		b.cells = append(b.cells, cell{column: column})
		return len(b.cells) - 1
	}
	from, isNode := cells[l.from]
	if !isNode {
		from = port(0)
	}
	to, isNode := cells[l.to]
	if !isNode {
		to = port(last)
	}
	return strand{link: l, cells: []int{from, to}}
}

// addLanes adds lanes to strands that pass columns, to the shortest first.
func (b *block) addLanes(p *plan) {
	span := func(s strand) int { return b.cells[s.cells[1]].column - b.cells[s.cells[0]].column }
	byLength := make([]int, len(b.strands))
	for i := range byLength {
		byLength[i] = i
	}
	slices.SortStableFunc(byLength, func(i, j int) int { return cmp.Compare(span(b.strands[i]), span(b.strands[j])) })
	lanes := 0
	direct := make([]bool, len(b.strands))
	for _, i := range byLength {
		lanes += span(b.strands[i]) - 1
		direct[i] = lanes > mostLanes
	}
	for i := range b.strands {
		if s := &b.strands[i]; direct[i] {
			s.fromOffset, _ = b.offset(p, s.cells[0], s.route, true)
			s.toOffset, _ = b.offset(p, s.cells[1], s.route, false)
		} else {
			b.sew(p, s)
		}
	}
}

// sew creates the lanes and seams of a strand.
func (b *block) sew(p *plan, s *strand) {
	first, last := s.cells[0], s.cells[1]
	cells := []int{first}
	for column := b.cells[first].column + 1; column < b.cells[last].column; column++ {
		cells = append(cells, len(b.cells))
		b.cells = append(b.cells, cell{column: column})
	}
	s.cells = append(cells, last)
	for i, to := range s.cells[1:] {
		from := s.cells[i]
		own := seam{from: from, to: to}
		own.fromOffset, own.fromFixed = b.offset(p, from, s.route, true)
		own.toOffset, own.toFixed = b.offset(p, to, s.route, false)
		s.seams = append(s.seams, len(b.seams))
		b.cells[from].after = append(b.cells[from].after, len(b.seams))
		b.cells[to].before = append(b.cells[to].before, len(b.seams))
		b.seams = append(b.seams, own)
	}
}

// offset returns the height at which a route leaves or reaches a cell, and whether it is fixed: at its port, if it starts or ends inside a
// group, otherwise in the middle.
func (b *block) offset(p *plan, c int, r *route, leaves bool) (int, bool) {
	n := b.cells[c].node
	switch {
	case n == page || n == r.left || n == r.right:
		return b.cells[c].height / 2, false
	case leaves:
		return p.frames[n].out[r], true
	}
	return p.frames[n].in[r], true
}

// ranks returns the column of each node: the length of the longest path to it. A node with more lines to its right than to its left is then
// moved as close to those as possible, unless it has a side.
func (p *plan) ranks(members []int, links []link) map[int]int {
	after, before := map[int][]int{}, map[int]int{}
	balance := map[int]int{}
	for _, l := range links {
		balance[l.from]++
		balance[l.to]--
		if l.from != page && l.to != page {
			after[l.from] = append(after[l.from], l.to)
			before[l.to]++
		}
	}
	var sorted []int
	for _, n := range members {
		if before[n] == 0 {
			sorted = append(sorted, n)
		}
	}
	rank := map[int]int{}
	for i := 0; i < len(sorted); i++ {
		for _, next := range after[sorted[i]] {
			rank[next] = max(rank[next], rank[sorted[i]]+1)
			if before[next]--; before[next] == 0 {
				sorted = append(sorted, next)
			}
		}
	}
	for _, n := range members {
		if p.nodes[n].Side == Start {
			balance[n] = 0
		}
	}
	pull(rank, sorted, after, balance)
	p.push(rank, members, after)
	return rank
}

// push moves nodes at the end into the last column, if no line leads on from them.
func (p *plan) push(rank map[int]int, members []int, after map[int][]int) {
	last := 0
	for _, n := range members {
		last = max(last, rank[n])
	}
	for _, n := range members {
		if p.nodes[n].Side == End && len(after[n]) == 0 {
			rank[n] = last
		}
	}
}

// pull moves nodes that have more lines after them than before them, the last one first.
func pull(rank map[int]int, sorted []int, after map[int][]int, balance map[int]int) {
	for _, n := range slices.Backward(sorted) {
		if balance[n] > 0 && len(after[n]) > 0 {
			closest := slices.MinFunc(after[n], func(a, b int) int { return cmp.Compare(rank[a], rank[b]) })
			rank[n] = rank[closest] - 1
		}
	}
}
