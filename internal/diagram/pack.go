// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package diagram

import "math/bits"

// pack arranges blocks on shelves, from top to bottom, which determines the size of the frame. A block with ports has a separate shelf, so
// that its lines reach the borders, and nodes without lines start a new one.
func (f *frame) pack(blocks []*block, top int) {
	if len(blocks) == 0 {
		f.width, f.height = 2*padding, 2*padding
		return
	}
	f.shelve(blocks, top)
}

func (f *frame) shelve(blocks []*block, top int) {
	limit := shelfWidth(blocks)
	places := make([]point, len(blocks))
	x, y, height := 0, top, 0
	flush := func() {
		if height > 0 {
			x, y, height = 0, y+height+blockGap, 0
		}
	}
	for i, b := range blocks {
		alone := b.portsLeft || b.portsRight
		firstSingle := i > 0 && len(b.strands) == 0 && len(blocks[i-1].strands) > 0
		if alone || firstSingle || x+b.width > limit {
			flush()
		}
		places[i] = point{x, y}
		f.width = max(f.width, x+b.width)
		x += b.width + blockGap - 2*padding
		height = max(height, b.height)
		if alone {
			flush()
		}
	}
	flush()
	f.height = y - blockGap + padding
	for i, b := range blocks {
		f.take(b, places[i])
	}
}

// shelfWidth returns the width of the widest block, or the width that makes the whole about twice as wide as high.
func shelfWidth(blocks []*block) int {
	widest, area := 0, 0
	for _, b := range blocks {
		widest = max(widest, b.width)
		area += b.width * (b.height + blockGap)
	}
	return max(widest, root(2*area))
}

// root returns a number slightly above the square root.
func root(n int) int {
	if n <= 0 {
		return 0
	}
	guess := 1 << ((bits.Len(uint(n)) + 1) / 2)
	for {
		next := (guess + n/guess) / 2
		if next >= guess {
			return guess + 1
		}
		guess = next
	}
}

// take adds the nodes and lines of a block to the frame.
func (f *frame) take(b *block, at point) {
	for _, c := range b.cells {
		if c.node != page {
			f.spots[c.node] = point{at.x + b.lefts[c.column], at.y + c.top}
		}
	}
	for _, s := range b.strands {
		piece := b.trace(s)
		for i := range piece {
			piece[i].x += at.x
			piece[i].y += at.y
		}
		if s.from == page {
			f.in[s.route] = piece[0].y
		}
		if s.to == page {
			end := piece[len(piece)-1]
			f.out[s.route] = end.y
			piece = append(piece, point{f.width, end.y})
		}
		s.route.pieces[f.index] = piece
	}
}
