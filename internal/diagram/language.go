// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package diagram

import (
	"fmt"
	"strings"
)

// DOT returns the graph in the language of Graphviz.
func (g Graph) DOT() string {
	p := newPlan(g)
	var out strings.Builder
	fmt.Fprintf(&out, "digraph %s {\n  rankdir=LR;\n  compound=true;\n  node [shape=box, style=rounded];\n", dotText(g.Title))
	ends := map[int]bool{}
	for _, r := range p.routes {
		ends[r.left], ends[r.right] = true, true
	}
	p.writeDOT(&out, page, ends)
	for _, r := range p.routes {
		from, to := r.ends()
		attributes := fmt.Sprintf("label=%s", dotText(r.Label))
		if p.isGroup(from) && !p.holds(from, to) {
			attributes += fmt.Sprintf(", ltail=cluster_%d", from)
		}
		if p.isGroup(to) && !p.holds(to, from) {
			attributes += fmt.Sprintf(", lhead=cluster_%d", to)
		}
		fmt.Fprintf(&out, "  n%d -> n%d [%s%s];\n", from, to, attributes, edgeColour(r.Edge))
	}
	out.WriteString("}\n")
	return out.String()
}

// writeDOT writes the contents of a frame. A group where edges start or end has an invisible point, because they need a node.
func (p *plan) writeDOT(out *strings.Builder, f int, ends map[int]bool) {
	indent := strings.Repeat("  ", p.depth[f]+1)
	for _, n := range p.members[f] {
		l := lookOf(p.nodes[n].State)
		label := dotText(p.nodes[n].Title, p.nodes[n].Detail)
		if !p.isGroup(n) {
			fmt.Fprintf(out, "%sn%d [label=%s, color=%q, fontcolor=%q];\n", indent, n, label, l.line, l.text)
			continue
		}
		fmt.Fprintf(out, "%ssubgraph cluster_%d {\n%s  label=%s;\n%s  color=%q;\n", indent, n, indent, label, indent, l.line)
		if ends[n] {
			fmt.Fprintf(out, "%s  n%d [shape=point, style=invis];\n", indent, n)
		}
		p.writeDOT(out, n, ends)
		fmt.Fprintf(out, "%s}\n", indent)
	}
}

func edgeColour(e Edge) string {
	switch e.State {
	case "missing":
		return `, style=dashed, color="#b77a12"`
	case "cut":
		return `, style=dashed, color="#c8352c"`
	}
	return ""
}

// ends returns those of the edge, whichever way it is drawn.
func (r *route) ends() (from, to int) {
	if r.reversed {
		return r.right, r.left
	}
	return r.left, r.right
}

// dotText quotes lines of text.
func dotText(lines ...string) string {
	var escaped []string
	for _, line := range lines {
		if line != "" {
			escaped = append(escaped, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(clean(line)))
		}
	}
	return `"` + strings.Join(escaped, `\n`) + `"`
}

// Mermaid returns the graph in the language of Mermaid. Edges between a group and its contents are omitted, since Mermaid rejects graphs
// with such edges.
func (g Graph) Mermaid() string {
	p := newPlan(g)
	var out strings.Builder
	out.WriteString("flowchart LR\n")
	p.writeMermaid(&out, page)
	for _, r := range p.routes {
		from, to := r.ends()
		if from != to && (p.holds(from, to) || p.holds(to, from)) {
			continue
		}
		arrow := "-->"
		if r.State == "missing" || r.State == "cut" {
			arrow = "-.->"
		}
		if r.Label != "" {
			arrow += "|" + mermaidText(r.Label) + "|"
		}
		fmt.Fprintf(&out, "  n%d %s n%d\n", from, arrow, to)
	}
	p.writeClasses(&out)
	return out.String()
}

func (p *plan) writeMermaid(out *strings.Builder, f int) {
	indent := strings.Repeat("  ", p.depth[f]+1)
	for _, n := range p.members[f] {
		text := mermaidText(p.nodes[n].Title, p.nodes[n].Detail)
		if !p.isGroup(n) {
			fmt.Fprintf(out, "%sn%d[%s]\n", indent, n, text)
			continue
		}
		fmt.Fprintf(out, "%ssubgraph n%d[%s]\n", indent, n, text)
		p.writeMermaid(out, n)
		fmt.Fprintf(out, "%send\n", indent)
	}
}

// writeClasses gives nodes the border of their state. Other colours are left to the theme, which may be dark.
func (p *plan) writeClasses(out *strings.Builder) {
	for _, state := range stateOrder {
		var members []string
		for n := 1; n < len(p.nodes); n++ {
			if word(p.nodes[n].State) == state {
				members = append(members, fmt.Sprintf("n%d", n))
			}
		}
		if len(members) > 0 {
			style := "stroke:" + looks[state].line
			if looks[state].dashed {
				style += ",stroke-dasharray:4 3"
			}
			fmt.Fprintf(out, "  classDef %s %s\n  class %s %s\n", state, style, strings.Join(members, ","), state)
		}
	}
}

// mermaidText quotes lines of text. Characters with a meaning in Mermaid or HTML are written as character codes.
func mermaidText(lines ...string) string {
	var escaped []string
	for _, line := range lines {
		if line == "" {
			continue
		}
		var text strings.Builder
		for _, r := range clean(line) {
			if strings.ContainsRune(`"#<>&`+"`", r) {
				fmt.Fprintf(&text, "#%d;", r)
			} else {
				text.WriteRune(r)
			}
		}
		escaped = append(escaped, text.String())
	}
	return `"` + strings.Join(escaped, "<br/>") + `"`
}
