// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strings"
	"unicode"

	"espalier.dev/internal/diagram"
)

var (
	chartKind  = regexp.MustCompile(`^(flowchart|graph) (LR|TD|TB)$`)
	subgraph   = regexp.MustCompile(`^subgraph (\w+)$`)
	chartNode  = regexp.MustCompile(`^(\w+)(?:\(\["([^"]*)"\]\)|\["([^"]*)"\]|\("([^"]*)"\))?`)
	chartArrow = regexp.MustCompile(`^\s+(?:-->|-- ([^-]+?) -->)\s+`)
	stateArrow = regexp.MustCompile(`^(\[\*\]|\w+) --> (\[\*\]|\w+)(?:: (.+))?$`)
	lineBreak  = regexp.MustCompile(`<br ?/?>`)
)

// readMermaid parses a diagram in the subset of Mermaid that the documentation uses: flowcharts with groups, and states. It returns false
// for anything else.
func readMermaid(text, title string) (diagram.Graph, bool) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	r := &mermaid{graph: diagram.Graph{Title: title}}
	read := r.chart
	switch {
	case lines[0] == "stateDiagram-v2":
		read = r.state
	case !chartKind.MatchString(lines[0]):
		return diagram.Graph{}, false
	}
	for _, line := range lines[1:] {
		if line = strings.TrimSpace(line); line != "" && !read(line) {
			return diagram.Graph{}, false
		}
	}
	return r.graph, len(r.graph.Nodes) > 0 && r.group == ""
}

// mermaid parses a diagram line by line.
type mermaid struct {
	graph diagram.Graph
	group string
}

// chart parses a line of a flowchart.
func (r *mermaid) chart(line string) bool {
	if match := subgraph.FindStringSubmatch(line); match != nil && r.group == "" {
		r.node(match[1], match[1])
		r.group = match[1]
		return true
	}
	if line == "end" {
		inside := r.group != ""
		r.group = ""
		return inside
	}
	before, label := "", ""
	for {
		match := chartNode.FindStringSubmatch(line)
		if match == nil {
			return false
		}
		r.node(match[1], match[2]+match[3]+match[4])
		if before != "" {
			r.graph.Edges = append(r.graph.Edges, diagram.Edge{From: before, To: match[1], Label: label})
		}
		if line = line[len(match[0]):]; strings.TrimSpace(line) == "" {
			return true
		}
		arrow := chartArrow.FindStringSubmatch(line)
		if arrow == nil {
			return false
		}
		before, label, line = match[1], arrow[1], line[len(arrow[0]):]
	}
}

// state parses a line of a state diagram.
func (r *mermaid) state(line string) bool {
	if strings.HasPrefix(line, "direction ") {
		return true
	}
	match := stateArrow.FindStringSubmatch(line)
	if match == nil {
		return false
	}
	from, to := match[1], match[2]
	if from == "[*]" {
		from = "start"
	}
	if to == "[*]" {
		to = "end"
	}
	r.node(from, from)
	r.node(to, to)
	r.graph.Edges = append(r.graph.Edges, diagram.Edge{From: from, To: to, Label: match[3]})
	return true
}

// node adds a box, or the text of a box that so far only had a name.
func (r *mermaid) node(id, text string) {
	for i := range r.graph.Nodes {
		if known := &r.graph.Nodes[i]; known.ID == id {
			if text != "" && known.Title == id {
				known.Title, known.Detail = titleOf(text)
			}
			if known.Parent == "" && id != r.group {
				known.Parent = r.group // A node named in a group is in it.
			}
			return
		}
	}
	n := diagram.Node{ID: id, Title: id, Parent: r.group}
	if text != "" {
		n.Title, n.Detail = titleOf(text)
	}
	r.graph.Nodes = append(r.graph.Nodes, n)
}

// widest is how many letters of a title fit into a box.
const widest = 16

// titleOf splits a text into the first line and the second: at a line break, or within a long word in CamelCase.
func titleOf(text string) (title, detail string) {
	parts := lineBreak.Split(text, 2)
	if len(parts) == 2 {
		return parts[0], parts[1]
	}
	if len(text) <= widest {
		return text, ""
	}
	for i, letter := range text {
		if i > 0 && i <= widest && unicode.IsUpper(letter) {
			title, detail = text[:i], text[i:]
		}
	}
	if title == "" {
		return text, ""
	}
	return title, detail
}
