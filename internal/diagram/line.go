// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package diagram

import (
	"fmt"
	"slices"
	"strings"
)

// trace returns the points of a strand, relative to its block. Between two points of the same height the line is straight, otherwise it is
// a curve that starts and ends horizontally. All curves are in gaps between columns.
func (b *block) trace(s strand) []point {
	first, last := b.cells[s.cells[0]], b.cells[s.cells[len(s.cells)-1]]
	start, end := first.top+s.fromOffset, last.top+s.toOffset
	if len(s.seams) > 0 {
		start = first.top + b.seams[s.seams[0]].fromOffset
		end = last.top + b.seams[s.seams[len(s.seams)-1]].toOffset
	}
	points := []point{
		{b.lefts[first.column] + first.width, start},
		{b.lefts[first.column] + b.widths[first.column], start},
	}
	for _, c := range s.cells[1 : len(s.cells)-1] {
		lane := b.cells[c]
		points = append(points, point{b.lefts[lane.column], lane.top}, point{b.lefts[lane.column] + b.widths[lane.column], lane.top})
	}
	return append(points, point{b.lefts[last.column], end})
}

// line joins the pieces of a route.
func (p *plan) line(r *route, origins []point) Line {
	if r.left == r.right {
		return p.loop(r, origins[r.left])
	}
	var points []point
	var label point
	for _, f := range r.frames {
		start := len(points)
		for _, at := range r.pieces[f] {
			points = append(points, point{at.x + origins[f].x, at.y + origins[f].y})
		}
		if f == r.home {
			label = labelPlace(withoutStops(points[start:]))
		}
	}
	points = withoutStops(points)
	if r.reversed {
		slices.Reverse(points)
	}
	return Line{Edge: r.Edge, Path: path(points), LabelX: label.x, LabelY: label.y}
}

// loop leads from a box to itself, below it.
func (p *plan) loop(r *route, at point) Line {
	width, height := p.size(r.left)
	right, foot := at.x+width, at.y+height
	curve := fmt.Sprintf("M%d %dC%d %d %d %d %d %d", right, foot-14, right+20, foot+16, at.x-20, foot+16, at.x, foot-14)
	return Line{Edge: r.Edge, Path: curve, LabelX: at.x + width/2, LabelY: foot + 18}
}

// withoutStops removes points inside straight lines.
func withoutStops(points []point) []point {
	result := points[:1:1]
	for _, at := range points[1:] {
		last := len(result) - 1
		switch {
		case at == result[last]:
		case last > 0 && at.y == result[last].y && at.y == result[last-1].y:
			result[last] = at
		default:
			result = append(result, at)
		}
	}
	return result
}

// labelPlace returns the middle of the longest part of a line. Labels are easier to read beside straight parts.
func labelPlace(points []point) point {
	best, most := points[0], -1
	for i, to := range points[1:] {
		from := points[i]
		room := to.x - from.x
		if from.y == to.y {
			room *= 2
		}
		if room > most {
			best, most = point{(from.x + to.x) / 2, (from.y+to.y)/2 - 5}, room
		}
	}
	return best
}

func path(points []point) string {
	var d strings.Builder
	fmt.Fprintf(&d, "M%d %d", points[0].x, points[0].y)
	for i, to := range points[1:] {
		from := points[i]
		if from.y == to.y {
			fmt.Fprintf(&d, "H%d", to.x)
			continue
		}
		middle := (from.x + to.x) / 2
		fmt.Fprintf(&d, "C%d %d %d %d %d %d", middle, from.y, middle, to.y, to.x, to.y)
	}
	return d.String()
}
