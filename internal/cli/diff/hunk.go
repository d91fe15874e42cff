// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"io"

	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/preview"
)

// around is how many lines are shown before and after a change.
const around = 3

var styles = map[string]display.Style{"+": display.Green, "-": display.Red}

// Hunks writes what follows the names of the files in a unified diff.
func Hunks(w io.Writer, printer display.Printer, lines []preview.Line) {
	for _, hunk := range hunksOf(lines) {
		fmt.Fprintln(w, hunk.head())
		for _, line := range hunk.lines {
			fmt.Fprintln(w, printer.Paint(line.Op+display.Verbatim(line.Text), styles[line.Op]))
		}
	}
}

// hunk is a part of a unified diff.
type hunk struct {
	// before and after are the numbers of its first lines, from 1.
	before, after int
	lines         []preview.Line
}

// hunksOf leaves out the lines that are far from any change.
func hunksOf(lines []preview.Line) []hunk {
	near := make([]bool, len(lines))
	for i, line := range lines {
		if line.Op == " " {
			continue
		}
		for j := max(0, i-around); j <= min(len(lines)-1, i+around); j++ {
			near[j] = true
		}
	}
	var hunks []hunk
	before, after := 1, 1
	for i, line := range lines {
		if near[i] {
			if i == 0 || !near[i-1] {
				hunks = append(hunks, hunk{before: before, after: after})
			}
			last := &hunks[len(hunks)-1]
			last.lines = append(last.lines, line)
		}
		if line.Op != "+" {
			before++
		}
		if line.Op != "-" {
			after++
		}
	}
	return hunks
}

// head is the line that begins a hunk.
func (h hunk) head() string {
	var before, after int
	for _, line := range h.lines {
		if line.Op != "+" {
			before++
		}
		if line.Op != "-" {
			after++
		}
	}
	return fmt.Sprintf("@@ -%s +%s @@", span(h.before, before), span(h.after, after))
}

// span is where lines are. Of none it names the line before.
func span(first, count int) string {
	if count == 0 {
		first--
	}
	if count == 1 {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d,%d", first, count)
}
