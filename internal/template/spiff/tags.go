// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"espalier.dev/internal/template"
)

// tag is a name for a node, for references from anywhere in the document.
type tag struct {
	name string
	// chain leads from the root of the document to the node: the nodes that must be evaluated before the node has a cell.
	chain []*source
}

// components returns the number of dots in the name of a tag. References prefer tags with fewer components.
func (t tag) components() int { return strings.Count(t.name, ".") }

// tagName returns the normalised form of a tag. Like the original, it treats colons as dots.
func tagName(written string) string { return strings.ReplaceAll(written, ":", ".") }

// tags returns the tags of a document in the order in which they are tried.
func (s *source) tags() ([]tag, *compileError) {
	c := &tagCollector{found: map[string]tag{}}
	if err := c.visit(s, false); err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(c.found), func(a, b tag) int {
		return cmp.Or(cmp.Compare(a.components(), b.components()), cmp.Compare(a.name, b.name))
	}), nil
}

// tagCollector finds the tags of a document.
type tagCollector struct {
	found map[string]tag
	// chain leads from the root to the current node.
	chain []*source
}

// visit visits a node and all nodes below it. A template can have many instances, or none, so a tag inside it would be
// ambiguous.
func (c *tagCollector) visit(s *source, inTemplate bool) *compileError {
	c.chain = append(c.chain, s)
	below := inTemplate
	for _, m := range s.ownMarkers() {
		if m.tag != "" && inTemplate {
			return s.tagError(
				"the tag %s is inside of a template, of which there can be several instances; mark the template itself or a value outside",
				m.tag,
			)
		}
		if err := c.enter(m.tag, s); err != nil {
			return err
		}
		below = below || m.flags.has(isTemplate)
	}
	for _, part := range s.below() {
		if err := c.visit(part, below); err != nil {
			return err
		}
	}
	c.chain = c.chain[:len(c.chain)-1]
	return nil
}

// enter records the tag of the current node, if it has one.
func (c *tagCollector) enter(name string, s *source) *compileError {
	if name == "" {
		return nil
	}
	if other, known := c.found[name]; known {
		return s.tagError("the tag %s is at two nodes, the other one is %s", name, other.chain[len(other.chain)-1].place.Path)
	}
	c.found[name] = tag{name, slices.Clone(c.chain)}
	return nil
}

func (s *source) tagError(format string, args ...any) *compileError {
	return &compileError{
		place: template.Place{Path: s.place.Path, Line: s.place.Line, Column: s.place.Column},
		cause: template.Problemf(format, args...),
	}
}

// ownMarkers returns the markers of a node: those of its expression, of its insertion, or of items that stand for markers of
// the list.
func (s *source) ownMarkers() []*marked {
	nodes := []*source{s, s.inserted}
	for _, item := range s.items {
		nodes = append(nodes, item.insertion())
	}
	var all []*marked
	for _, node := range nodes {
		if m := node.markers(); m != nil {
			all = append(all, m)
		}
	}
	return all
}

// below returns the direct parts of a node, except insertions that are expressions.
func (s *source) below() []*source {
	var all []*source
	for _, name := range s.names {
		all = append(all, s.entries[name])
	}
	insertions := []*source{s.inserted}
	for _, item := range s.items {
		if insertion := item.insertion(); insertion != nil {
			insertions = append(insertions, insertion)
		} else {
			all = append(all, item)
		}
	}
	for _, insertion := range insertions {
		if insertion != nil && insertion.kind != expressionKind {
			all = append(all, insertion)
		}
	}
	return all
}

// tagged is a reference into a node by its tag. An empty path means the whole node.
type tagged struct {
	span
	tag  string
	path []string
}

func (t *tagged) eval(e *env, locally bool) (outcome, error) {
	tags := e.run.tagsOf(t.tag)
	if err := e.run.meter.Step(int64(len(e.run.tags)) / itemsPerStep); err != nil {
		return outcome{}, err
	}
	if len(tags) == 0 {
		return outcome{}, problem("there is no tag %s", t.tag)
	}
	if len(t.path) == 0 && len(tags) > 1 && tags[0].name != t.tag {
		return outcome{}, problem("several tags begin with %s", t.tag)
	}
	reached, err := t.reach(e, tags)
	if err != nil {
		return outcome{}, err
	}
	if reached == nil {
		return outcome{}, problem("there is no %s at the tag %s", strings.Join(t.path, "."), t.tag)
	}
	return e.take(reached, locally)
}

// reach follows the path at the tag itself, or else at the tags of which its name is a prefix. Among those with the same
// number of components, only one may have the path.
func (t *tagged) reach(e *env, tags []tag) (*cell, error) {
	var found *cell
	components := 0
	for _, candidate := range tags {
		if found != nil && candidate.components() > components {
			break
		}
		c, err := e.run.tagCell(candidate)
		if err != nil {
			return nil, err
		}
		reached, err := e.into(c, t.path)
		if err != nil {
			return nil, err
		}
		switch {
		case reached == nil:
			continue
		case candidate.name == t.tag:
			return reached, nil
		case found != nil:
			return nil, problem("%s is at several tags that begin with %s", strings.Join(t.path, "."), t.tag)
		}
		found, components = reached, candidate.components()
	}
	return found, nil
}

// into follows a path into a cell, which may be undefined.
func (e *env) into(c *cell, path []string) (*cell, error) {
	if err := c.force(); err != nil || c.undefined {
		return nil, err
	}
	reached, _, err := e.walk(c, path)
	return reached, err
}

// tagsOf returns the tag with a name and those of which the name is a prefix.
func (r *run) tagsOf(name string) []tag {
	var all []tag
	for _, t := range r.tags {
		if t.name == name || strings.HasPrefix(t.name, name+".") {
			all = append(all, t)
		}
	}
	return all
}

// tagCell returns the cell of a node that has a tag. The nodes around it are evaluated first, as far as necessary.
func (r *run) tagCell(t tag) (*cell, error) {
	var c *cell
	for _, s := range t.chain {
		if c != nil && c.state != running {
			if err := c.force(); err != nil {
				return nil, err
			}
		}
		if c = r.nodes[s]; c == nil {
			return nil, problem("the node with the tag %s does not exist", t.name)
		}
	}
	return c, nil
}

// noteNode records the cell of a node that has a tag or is on the way to one.
func (r *run) noteNode(s *source, c *cell) {
	if _, wanted := r.nodes[s]; wanted {
		r.nodes[s] = c
	}
}

// nodesOf returns the map for the cells of the nodes on the way to tags.
func nodesOf(tags []tag) map[*source]*cell {
	nodes := map[*source]*cell{}
	for _, t := range tags {
		for _, s := range t.chain {
			nodes[s] = nil
		}
	}
	return nodes
}
