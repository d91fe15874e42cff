// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package diagram

import (
	"fmt"
	"strings"
)

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")

func xmlText(text string) string { return escapes.Replace(clean(text)) }

// SVG returns the drawing as a standalone file, which follows the reader's choice of light or dark mode. Truncated texts are shown in full
// on hover, and the description contains everything.
func (d Drawing) SVG() string {
	var out strings.Builder
	fmt.Fprintf(
		&out,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title desc">`+"\n",
		d.Width, d.Height, d.Width, d.Height,
	)
	title := d.Title
	if title == "" {
		title = "Graph"
	}
	fmt.Fprintf(&out, "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n", xmlText(title), xmlText(d.description()))
	out.WriteString("<style>\n" + styleSheet() + "</style>\n")
	for _, marker := range []string{"there", "missing", "cut"} {
		fmt.Fprintf(&out, `<marker id="%s" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" `+
			`orient="auto"><path class="head %s" d="M1 1l6 3-6 3z"/></marker>`+"\n", marker, marker)
	}
	fmt.Fprintf(&out, `<rect class="page" width="%d" height="%d"/>`+"\n", d.Width, d.Height)
	for _, box := range d.Boxes {
		if box.Group {
			box.write(&out)
		}
	}
	for _, line := range d.Lines {
		line.write(&out)
	}
	for _, box := range d.Boxes {
		if !box.Group {
			box.write(&out)
		}
	}
	for _, line := range d.Lines {
		line.writeLabel(&out)
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// description describes the whole drawing in words.
func (d Drawing) description() string {
	titles := map[string]string{}
	var boxes, lines []string
	for _, box := range d.Boxes {
		titles[box.ID] = box.Title
		boxes = append(boxes, box.words(titles))
	}
	for _, line := range d.Lines {
		lines = append(lines, line.words(titles))
	}
	text := fmt.Sprintf("%d boxes and %d lines.", len(boxes), len(lines))
	for _, sentence := range append(boxes, lines...) {
		text += " " + sentence + "."
	}
	return text
}

func (b Box) words(titles map[string]string) string {
	text := b.Title
	if above := titles[b.Parent]; above != "" {
		text += " in " + above
	}
	if b.Detail != "" {
		text += ": " + b.Detail
	}
	return text
}

func (l Line) words(titles map[string]string) string {
	text := fmt.Sprintf("From %s to %s", titles[l.From], titles[l.To])
	if l.Label != "" {
		text += ": " + l.Label
	}
	if l.State == "missing" || l.State == "cut" {
		text += ", " + l.State
	}
	return text
}

func (b Box) write(out *strings.Builder) {
	kind := "node"
	if b.Group {
		kind = "group"
	}
	known, state := looks[word(b.State)], word(b.State)
	fmt.Fprintf(out, `<g class="%s %s" transform="translate(%d %d)"><title>%s</title>`, kind, state, b.X, b.Y, xmlText(b.words(nil)))
	fmt.Fprintf(out, `<rect width="%d" height="%d" rx="8"/>`, b.Width, b.Height)
	left := 12
	if known.outline != "" {
		left = 37
		top := 17
		if b.Group {
			top = 10
		}
		fmt.Fprintf(out, `<g class="icon" transform="translate(12 %d)"><path d="%s"/>`, top, known.outline)
		if known.solid != "" {
			fmt.Fprintf(out, `<path class="solid" d="%s"/>`, known.solid)
		}
		out.WriteString("</g>")
	}
	b.writeText(out, left)
	out.WriteString("</g>\n")
}

// writeText writes the title above the detail, or before it if the box is a group.
func (b Box) writeText(out *strings.Builder, left int) {
	room := b.Width - left - 8
	title := cut(clean(b.Title), room, titleSize)
	switch {
	case b.Group:
		fmt.Fprintf(out, `<text class="title" x="%d" y="22">%s</text>`, left, xmlText(title))
		after := left + textWidth(title, titleSize) + 12
		room = b.Width - after - 8
		if detail := cut(clean(b.Detail), room, detailSize); detail == clean(b.Detail) || room > 60 {
			fmt.Fprintf(out, `<text class="detail" x="%d" y="22">%s</text>`, after, xmlText(detail))
		}
	case b.Detail == "":
		fmt.Fprintf(out, `<text class="title" x="%d" y="%d">%s</text>`, left, b.Height/2+4, xmlText(title))
	default:
		fmt.Fprintf(out, `<text class="title" x="%d" y="22">%s</text>`, left, xmlText(title))
		fmt.Fprintf(out, `<text class="detail" x="%d" y="38">%s</text>`, left, xmlText(cut(clean(b.Detail), room, detailSize)))
	}
}

func (l Line) write(out *strings.Builder) {
	class := l.class()
	fmt.Fprintf(out, `<path class="line %s" marker-end="url(#%s)" d="%s">`, class, class, l.Path)
	if l.Label != "" {
		fmt.Fprintf(out, "<title>%s</title>", xmlText(l.Label))
	}
	out.WriteString("</path>\n")
}

func (l Line) writeLabel(out *strings.Builder) {
	if l.showsLabel() {
		text := xmlText(cut(clean(l.Label), widestGap, labelSize))
		fmt.Fprintf(out, `<text class="label %s" x="%d" y="%d">%s</text>`+"\n", l.class(), l.LabelX, l.LabelY, text)
	}
}

// class returns the class in the style sheet; an edge without a state looks like one that is there.
func (l Line) class() string {
	if l.State == "missing" || l.State == "cut" {
		return l.State
	}
	return There
}

const baseStyle = `text { font-family: Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif; }
.title { font-size: 12.5px; font-weight: 600; }
.detail { font-size: 11.5px; }
.label { font-size: 11px; text-anchor: middle; stroke-width: 3px; paint-order: stroke; }
.line { fill: none; stroke-width: 1.25px; }
.line.missing, .line.cut { stroke-width: 1.75px; stroke-dasharray: 5 4; }
.icon path { fill: none; stroke-width: 1.5px; stroke-linecap: round; stroke-linejoin: round; }
`

// styleSheet contains each colour twice: for light and, in a media query, for dark mode.
func styleSheet() string {
	light, dark := pageStyle(false), pageStyle(true)
	shapes := ""
	for _, state := range append([]string{""}, stateOrder...) {
		l, selector := lookOf(state), ""
		if state != "" {
			selector = "." + state
		}
		light += boxStyle(selector, l.text, l.fill, l.line)
		dark += boxStyle(selector, l.darkText, l.darkFill, l.darkLine)
		if l.dashed {
			shapes += fmt.Sprintf(".node%s > rect { stroke-dasharray: 4 3; }\n", selector)
		}
	}
	return baseStyle + light + shapes + "@media (prefers-color-scheme: dark) {\n" + dark + "}\n"
}

func boxStyle(selector, text, fill, line string) string {
	return fmt.Sprintf(
		".node%[1]s > rect { fill: %[3]s; stroke: %[4]s; } .group%[1]s > rect { stroke: %[4]s; } "+
			"%[1]s .detail { fill: %[2]s; } %[1]s .icon path { stroke: %[2]s; } %[1]s .icon .solid { fill: %[2]s; }\n",
		selector, text, fill, line,
	)
}

func pageStyle(dark bool) string {
	if dark {
		return rules("#0d1210", "#0f1512", "#e9efeb", [3]string{"#66736c", "#d59d3a", "#e5604f"})
	}
	return rules("#f6f7f5", "#f0f2ef", "#141c18", [3]string{"#8b968f", "#b77a12", "#c8352c"})
}

// rules are the styles of everything but boxes. Lines are, in this order, there, missing and cut.
func rules(canvas, group, text string, lines [3]string) string {
	result := fmt.Sprintf(".page { fill: %s; } .group > rect { fill: %s; } .title { fill: %s; }\n", canvas, group, text)
	for i, class := range []string{There, "missing", "cut"} {
		result += fmt.Sprintf(
			".line.%[1]s { stroke: %[2]s; } .head.%[1]s { fill: %[2]s; } .label.%[1]s { fill: %[3]s; stroke: %[4]s; }\n",
			class, lines[i], text, canvas,
		)
	}
	return result
}
