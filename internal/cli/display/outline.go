// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package display

// Outline is a text with others below it.
type Outline struct {
	Text  string
	Below []Outline
}

// Add puts a text below at the end of a path, unless it is there already.
func (o *Outline) Add(path ...string) {
	if len(path) == 0 {
		return
	}
	for i := range o.Below {
		if o.Below[i].Text == path[0] {
			o.Below[i].Add(path[1:]...)
			return
		}
	}
	o.Below = append(o.Below, Outline{Text: path[0]})
	o.Below[len(o.Below)-1].Add(path[1:]...)
}

// Outline prints what is below an outline as trees in characters.
func (p Printer) Outline(of Outline) error {
	var lines []string
	for _, top := range of.Below {
		lines = append(lines, top.lines(branch{})...)
	}
	return p.Lines(lines...)
}

func (o Outline) lines(at branch) []string {
	lines := []string{at.stem + at.joint + Clean(o.Text)}
	for i, below := range o.Below {
		lines = append(lines, below.lines(at.below(i == len(o.Below)-1))...)
	}
	return lines
}
