// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Reverse swaps the colours of text and background.
const Reverse Style = "7"

// Within returns a printer for a part of the screen with another width, at another time.
func (p Printer) Within(width int, now time.Time) Printer {
	p.width, p.now = max(1, width), now
	return p
}

// Colourless returns a printer that leaves the colours out.
func (p Printer) Colourless() Printer {
	p.colour = false
	return p
}

// minimalName is how much of the widest column is shown as long as there are columns to leave out.
const minimalName = 12

// Fit makes a table as narrow as the terminal: first the last column gives way, then the widest, then columns are left out from the end.
// The first two stay, whatever is left of them.
func (p Printer) Fit(t Table) Table {
	if p.width == 0 {
		return t
	}
	for complete := true; ; complete = false {
		widths, excess := p.excess(t)
		if complete && len(widths) > 2 {
			excess = shrink(widths, len(widths)-1, minimalLast, excess)
		}
		excess = shrinkWidest(widths, minimalName, excess)
		if excess > 0 && len(widths) > 2 {
			t = t.without(len(widths) - 1)
			continue
		}
		shrinkWidest(widths, 1, excess)
		return t.cut(widths)
	}
}

// excess returns the widths of the columns, and by how much they exceed the terminal.
func (p Printer) excess(t Table) (widths []int, excess int) {
	widths = Printer{}.widths(append([][]Cell{headerCells(t)}, t.Rows...))
	excess = -p.width - gap
	for _, width := range widths {
		excess += width + gap
	}
	return widths, excess
}

// shrink takes width from a column, but leaves a minimum. It returns how many are still to be taken.
func shrink(widths []int, column, minimum, excess int) int {
	taken := min(max(excess, 0), max(widths[column]-minimum, 0))
	widths[column] -= taken
	return excess - taken
}

// shrinkWidest takes width from the widest column, then from the next.
func shrinkWidest(widths []int, minimum, excess int) int {
	for range widths {
		excess = shrink(widths, slices.Index(widths, slices.Max(widths)), minimum, excess)
	}
	return excess
}

func headerCells(t Table) []Cell {
	cells := make([]Cell, 0, len(t.Header))
	for _, title := range t.Header {
		cells = append(cells, Cell{title, Bold})
	}
	return cells
}

func (t Table) without(column int) Table {
	narrower := Table{Header: t.Header[:column]}
	for _, row := range t.Rows {
		narrower.Rows = append(narrower.Rows, row[:column])
	}
	return narrower
}

func (t Table) cut(widths []int) Table {
	shorter := Table{}
	for i, title := range t.Header {
		shorter.Header = append(shorter.Header, Cut(title, widths[i]))
	}
	for _, row := range t.Rows {
		cells := slices.Clone(row)
		for i := range cells {
			cells[i].Text = Cut(cells[i].Text, widths[i])
		}
		shorter.Rows = append(shorter.Rows, cells)
	}
	return shorter
}

// Wrap breaks lines that are longer than a width, at spaces where there are some. What follows is indented as the line is.
func Wrap(lines []string, width int) []string {
	var wrapped []string
	for _, line := range lines {
		wrapped = append(wrapped, wrapLine([]rune(line), max(1, width))...)
	}
	return wrapped
}

func wrapLine(rest []rune, width int) []string {
	var lines []string
	leading := leadingSpaces(rest)
	indent, room := "", width
	for fits := fitting(rest, room); fits < len(rest); fits = fitting(rest, room) {
		at := breakAt(rest, fits)
		lines = append(lines, indent+string(rest[:at]))
		rest = rest[at:]
		rest = rest[leadingSpaces(rest):]
		if leading <= width/2 {
			indent, room = strings.Repeat(" ", leading), width-leading
		}
	}
	return append(lines, indent+string(rest))
}

func leadingSpaces(text []rune) int {
	for i, r := range text {
		if r != ' ' {
			return i
		}
	}
	return len(text)
}

// fitting is how many characters at the start of a text fit a width, but at least one.
func fitting(text []rune, width int) int {
	count := 0
	for shape := displaywidth.StringGraphemes(string(text)); shape.Next(); {
		if width -= shape.Width(); width < 0 && count > 0 {
			break
		}
		count += utf8.RuneCountInString(shape.Value())
	}
	return count
}

// breakAt returns where to break a text of which only so many characters fit: at the last space that something stands before.
func breakAt(text []rune, fits int) int {
	leading := leadingSpaces(text[:fits])
	for i := fits; i > leading; i-- {
		if text[i] == ' ' {
			return i
		}
	}
	return fits
}
