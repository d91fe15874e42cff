// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package diagram

import (
	"cmp"
	"slices"
)

// grain is the number of steps per pixel during placement. All computations use integers, so that every machine draws the same.
const grain = 64

const rounds = 8

// place computes the tops of cells. Each wants to be where its lines are straight; columns are settled one after another, in both
// directions, first by the neighbours on one side and finally by those on both.
func (b *block) place() {
	for _, column := range b.columns {
		at := 0
		for i, c := range column {
			if i > 0 {
				at += b.distance(column[i-1], c)
			}
			b.cells[c].top = at * grain
		}
	}
	for i := range rounds {
		both := i >= rounds/2
		for _, column := range b.columns {
			b.settle(column, true, both)
		}
		for _, column := range slices.Backward(b.columns) {
			b.settle(column, both, true)
		}
	}
	b.round()
}

// distance returns the distance between the tops of two consecutive cells in a column.
func (b *block) distance(upper, lower int) int {
	gap := rowGap
	switch lanes := [2]bool{b.cells[upper].node == page, b.cells[lower].node == page}; lanes {
	case [2]bool{true, true}:
		gap = laneGap
	case [2]bool{true, false}, [2]bool{false, true}:
		gap = rowGap / 2
	}
	return b.cells[upper].height + gap
}

// pool is a run of cells that touch: their number, and the weighted sum of the desired positions of the first one.
type pool struct{ count, sum, weight int }

func (p pool) mean() int {
	mean := p.sum / p.weight
	if p.sum%p.weight < 0 {
		mean--
	}
	return mean
}

// settle moves the cells of a column as close as possible to where they want to be, by least squares, while they keep their order and
// distance. Conflicting cells become a pool and meet in the middle (isotonic regression).
func (b *block) settle(column []int, byBefore, byAfter bool) {
	var pools []pool
	offset := 0
	for i, c := range column {
		if i > 0 {
			offset += b.distance(column[i-1], c) * grain
		}
		wish, weight := b.wish(c, byBefore, byAfter)
		pools = append(pools, pool{count: 1, sum: (wish - offset) * weight, weight: weight})
		for last := len(pools) - 1; last > 0 && pools[last-1].mean() > pools[last].mean(); last-- {
			pools[last-1].count += pools[last].count
			pools[last-1].sum += pools[last].sum
			pools[last-1].weight += pools[last].weight
			pools = pools[:last]
		}
	}
	at := 0
	offset = 0
	for _, p := range pools {
		for range p.count {
			if at > 0 {
				offset += b.distance(column[at-1], column[at]) * grain
			}
			b.cells[column[at]].top = p.mean() + offset
			at++
		}
	}
}

// wish returns where the lines of a cell would be straight, and the weight of that: bends of lanes look worst. A cell without lines wants
// to stay.
func (b *block) wish(c int, byBefore, byAfter bool) (top, weight int) {
	sum := 0
	add := func(other, bend int) {
		own := 4
		if b.cells[c].node == page {
			own *= 2
		}
		if b.cells[other].node == page {
			own *= 2
		}
		sum += (b.cells[other].top + bend*grain) * own
		weight += own
	}
	if byBefore {
		for _, s := range b.cells[c].before {
			add(b.seams[s].from, b.seams[s].fromOffset-b.seams[s].toOffset)
		}
	}
	if byAfter {
		for _, s := range b.cells[c].after {
			add(b.seams[s].to, b.seams[s].toOffset-b.seams[s].fromOffset)
		}
	}
	if weight == 0 {
		return b.cells[c].top, 1
	}
	return sum / weight, weight
}

// round converts positions to pixels, the smallest of which is 0.
func (b *block) round() {
	least := b.cells[0].top
	for _, c := range b.cells {
		least = min(least, c.top)
	}
	for i := range b.cells {
		b.cells[i].top = (b.cells[i].top - least) / grain
		b.height = max(b.height, b.cells[i].top+b.cells[i].height)
	}
}

// attach spreads lines over the sides of their nodes, in the order in which they arrive there.
func (b *block) attach() {
	for c := range b.cells {
		if b.cells[c].node == page {
			continue
		}
		b.spread(c, b.cells[c].before, func(s *seam) (int, bool, *int) { return b.cells[s.from].top + s.fromOffset, s.toFixed, &s.toOffset })
		b.spread(c, b.cells[c].after, func(s *seam) (int, bool, *int) { return b.cells[s.to].top + s.toOffset, s.fromFixed, &s.fromOffset })
	}
}

// spread sets the offsets of seams at one side of a cell. look returns where the other end of a seam is, whether its offset is fixed, and
// the offset.
func (b *block) spread(c int, seams []int, look func(*seam) (height int, fixed bool, offset *int)) {
	type end struct {
		height int
		offset *int
	}
	var free []end
	for _, s := range seams {
		if height, fixed, offset := look(&b.seams[s]); !fixed {
			free = append(free, end{height, offset})
		}
	}
	slices.SortStableFunc(free, func(x, y end) int { return cmp.Compare(x.height, y.height) })
	for i, e := range free {
		*e.offset = spreadAt(b.cells[c].height, i, len(free))
	}
}

// spreadAt returns the position of one of several lines at a side: around the middle, ten pixels apart if there is room.
func spreadAt(height, i, count int) int {
	if count == 1 {
		return height / 2
	}
	all := min(10*(count-1), height-20)
	return height/2 - all/2 + i*all/(count-1)
}

// gaps returns the gaps after each column, as wide as their labels need.
func (b *block) gaps() []int {
	gaps := make([]int, len(b.columns))
	for i := range gaps {
		gaps[i] = columnGap
	}
	if b.portsLeft {
		gaps[0] = portGap
	}
	if b.portsRight {
		gaps[len(gaps)-2] = portGap
	}
	for _, s := range b.strands {
		column := b.cells[s.cells[0]].column
		if s.home && s.route.showsLabel() && b.cells[s.cells[len(s.cells)-1]].column == column+1 {
			gaps[column] = max(gaps[column], min(widestGap, textWidth(s.route.Label, labelSize)+24))
		}
	}
	return gaps
}

// measure computes the positions of columns.
func (b *block) measure() {
	gaps := b.gaps()
	b.lefts, b.widths = make([]int, len(b.columns)), make([]int, len(b.columns))
	at := padding
	if b.portsLeft {
		at = 0
	}
	for i, column := range b.columns {
		b.lefts[i] = at
		for _, c := range column {
			b.widths[i] = max(b.widths[i], b.cells[c].width)
		}
		at += b.widths[i] + gaps[i]
	}
	b.width = b.lefts[len(b.lefts)-1] + b.widths[len(b.widths)-1]
	if !b.portsRight {
		b.width += padding
	}
}
