// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"io"
	"strings"
)

// Cell is a text in a table.
type Cell struct {
	Text  string
	Style Style
}

// Table has a header and rows of as many cells.
type Table struct {
	Header []string
	Rows   [][]Cell
}

// gap stands between columns.
const gap = 3

// minimalLast is how much of the last column is shown even if the terminal is too narrow for it.
const minimalLast = 10

// Table prints a table. The last column gives way if the terminal is too narrow.
func (p Printer) Table(t Table) error {
	for _, line := range p.Align(t) {
		if _, err := fmt.Fprintln(p.w, line); err != nil {
			return err
		}
	}
	return nil
}

// Align returns the lines of a table.
func (p Printer) Align(t Table) []string {
	rows := [][]Cell{{}}
	for _, title := range t.Header {
		rows[0] = append(rows[0], Cell{title, Bold})
	}
	rows = append(rows, t.Rows...)
	widths := p.widths(rows)
	lines := make([]string, 0, len(rows))
	for _, row := range rows {
		lines = append(lines, p.line(row, widths))
	}
	return lines
}

// Room is how wide one more column can be in the terminal; none if there is no terminal.
func (p Printer) Room(t Table) int {
	if p.width == 0 {
		return 0
	}
	room := p.width
	for i, title := range t.Header {
		width := Width(title)
		for _, row := range t.Rows {
			width = max(width, Width(row[i].Text))
		}
		room -= width + gap
	}
	return max(room, 0)
}

func (p Printer) widths(rows [][]Cell) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], Width(cell.Text))
		}
	}
	if p.width == 0 {
		return widths
	}
	last := len(widths) - 1
	room := p.width
	for _, width := range widths[:last] {
		room -= width + gap
	}
	widths[last] = min(widths[last], max(room, minimalLast))
	return widths
}

func (p Printer) line(row []Cell, widths []int) string {
	var line strings.Builder
	spaces := 0
	for i, cell := range row {
		text := Cut(cell.Text, widths[i])
		if text != "" {
			line.WriteString(strings.Repeat(" ", spaces))
			line.WriteString(p.Paint(text, cell.Style))
			spaces = 0
		}
		spaces += widths[i] - Width(text) + gap
	}
	return line.String()
}

// Lines prints lines of text.
func (p Printer) Lines(lines ...string) error {
	if len(lines) == 0 {
		return nil
	}
	_, err := io.WriteString(p.w, strings.Join(lines, "\n")+"\n")
	return err
}
