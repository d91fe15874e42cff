// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package diagram

import (
	"cmp"
	"slices"
)

// sweeps is the number of passes from left to right and back that improve the order.
const sweeps = 12

// order sorts the cells of each column so that few lines cross.
func (b *block) order() {
	b.firstOrder()
	best, fewest := b.slots(), b.crossings()
	for i := 0; i < sweeps && fewest > 0; i++ {
		for column := 1; column < len(b.columns); column++ {
			b.sort(column, true)
		}
		for column := len(b.columns) - 2; column >= 0; column-- {
			b.sort(column, false)
		}
		if crossings := b.crossings(); crossings < fewest {
			best, fewest = b.slots(), crossings
		}
	}
	for column := range b.columns {
		b.columns[column] = best[column]
		b.number(column)
	}
}

// firstOrder is the order of a walk along the lines, which keeps connected cells together.
func (b *block) firstOrder() {
	seen := make([]bool, len(b.cells))
	for start := range b.cells {
		walk := []int{start}
		for len(walk) > 0 {
			at := walk[len(walk)-1]
			walk = walk[:len(walk)-1]
			if seen[at] {
				continue
			}
			seen[at] = true
			b.columns[b.cells[at].column] = append(b.columns[b.cells[at].column], at)
			for _, s := range slices.Backward(b.cells[at].after) {
				walk = append(walk, b.seams[s].to)
			}
		}
	}
	for column := range b.columns {
		b.number(column)
	}
}

func (b *block) number(column int) {
	for slot, c := range b.columns[column] {
		b.cells[c].slot = slot
	}
}

func (b *block) slots() [][]int {
	result := make([][]int, len(b.columns))
	for i, column := range b.columns {
		result[i] = slices.Clone(column)
	}
	return result
}

// sort orders a column by the mean position of the neighbours in the column before it, or after it. Cells without such neighbours keep
// their position.
func (b *block) sort(column int, byBefore bool) {
	var movable, places []int
	means := map[int]int{}
	for slot, c := range b.columns[column] {
		if mean, any := b.mean(c, byBefore); any {
			means[c] = mean
			movable, places = append(movable, c), append(places, slot)
		}
	}
	slices.SortStableFunc(movable, func(x, y int) int { return cmp.Compare(means[x], means[y]) })
	for i, slot := range places {
		b.columns[column][slot] = movable[i]
	}
	b.number(column)
}

// mean returns the mean position of the neighbours of a cell, in thousandths of a slot. The position where a line meets a group counts too.
func (b *block) mean(c int, byBefore bool) (int, bool) {
	seams := b.cells[c].after
	if byBefore {
		seams = b.cells[c].before
	}
	sum := 0
	for _, s := range seams {
		other, offset := b.seams[s].to, b.seams[s].toOffset
		if byBefore {
			other, offset = b.seams[s].from, b.seams[s].fromOffset
		}
		sum += 1000*b.cells[other].slot + 1000*offset/(b.cells[other].height+1)
	}
	return sum / max(1, len(seams)), len(seams) > 0
}

// crossings counts the pairs of seams that cross.
func (b *block) crossings() int {
	count := 0
	for column, cells := range b.columns[:len(b.columns)-1] {
		var ends []int
		for _, c := range cells {
			start := len(ends)
			for _, s := range b.cells[c].after {
				ends = append(ends, b.cells[b.seams[s].to].slot)
			}
			slices.Sort(ends[start:])
		}
		count += inversions(ends, len(b.columns[column+1]))
	}
	return count
}

// inversions counts the pairs in which the greater number, below limit, comes first. It keeps sums in a binary indexed tree.
func inversions(numbers []int, limit int) int {
	sums := make([]int, limit+1)
	count := 0
	for i, number := range numbers {
		notGreater := 0
		for at := number + 1; at > 0; at -= at & -at {
			notGreater += sums[at]
		}
		count += i - notGreater
		for at := number + 1; at <= limit; at += at & -at {
			sums[at]++
		}
	}
	return count
}
