// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Result is the result for a file.
type Result struct {
	// Content is the desired content of the file. It is the input slice itself if nothing changes.
	Content []byte
	// Places counts the scalars that carry the marker.
	Places int
	// Previous are the old values of those that changed, in the order of the file.
	Previous []string
}

// Changed reports whether the file must be written.
func (r Result) Changed() bool { return len(r.Previous) > 0 }

// Rewrite sets every scalar of a file that carries the marker to the revision. Errors are of type *Problem: the file mentions the marker
// and cannot be parsed, or the marker does not belong to a scalar.
func (m Marker) Rewrite(file string, content []byte, revision string) (Result, error) {
	result := Result{Content: content}
	if err := CheckRevision(revision); err != nil {
		return result, &Problem{File: file, Message: err.Error()}
	}
	if !m.Mentions(content) {
		return result, nil
	}
	d, err := parse(file, content)
	if err != nil {
		return result, err
	}
	if d.lost != nil {
		// Unless the end of each scalar is known, comments cannot be distinguished from text.
		return result, &Problem{File: file, Line: d.lost.Line, Message: "the value cannot be located in the text: put it on one line, in quotes"}
	}
	marked, err := d.marked(m, file)
	if err != nil {
		return result, err
	}
	result.Places = len(marked)
	holds := func(p place) bool { return p.value.Value == revision && p.value.ShortTag() == "!!str" }
	outdated := slices.DeleteFunc(marked, holds)
	if len(outdated) == 0 {
		return result, nil
	}
	if result.Content, err = d.replace(outdated, revision, file); err != nil {
		return Result{Content: content, Places: result.Places}, err
	}
	for _, p := range outdated {
		result.Previous = append(result.Previous, p.value.Value)
	}
	return result, nil
}

// marked returns the scalars that carry the marker, in the order of the file, without duplicates.
func (d *document) marked(m Marker, file string) ([]place, error) {
	var found []place
	for _, comment := range d.comments() {
		line := d.text.line(comment)
		ours, err := m.read(d.text.content[comment:d.text.lineEnd(comment)])
		if err != nil {
			return nil, &Problem{File: file, Line: line, Message: err.Error()}
		}
		if !ours {
			continue
		}
		p, ok := d.markedBy(comment)
		switch {
		case !ok:
			return nil, &Problem{
				File:    file,
				Line:    line,
				Message: "the marker has no value: put it after the value, or on the line above",
			}
		case p.value.Kind == yaml.AliasNode:
			return nil, &Problem{File: file, Line: line, Message: "the marker is at an alias: mark the value with the anchor"}
		case p.value.Kind != yaml.ScalarNode:
			return nil, &Problem{File: file, Line: line, Message: "the marker is at a mapping or a sequence: put it directly after the value"}
		}
		if !slices.ContainsFunc(found, func(other place) bool { return other.index == p.index }) {
			found = append(found, p)
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].index < found[j].index })
	return found, nil
}

// comments returns the positions where comments start.
func (d *document) comments() []int {
	spans := slices.Clone(d.scalars)
	sort.SliceStable(spans, func(i, j int) bool { return spans[i].start < spans[j].start })
	var found []int
	for at := 0; at < len(d.text.content); at++ {
		for len(spans) > 0 && spans[0].last() <= at {
			spans = spans[1:]
		}
		if d.text.content[at] != '#' || len(spans) > 0 && spans[0].contains(at) || !d.text.afterBlank(at) {
			continue
		}
		found = append(found, at)
		at = d.text.lineEnd(at)
	}
	return found
}

// markedBy returns the value that a comment refers to: the value that ends before it on the same line; otherwise the value whose key
// precedes it on the same line; otherwise what starts on the next line.
func (d *document) markedBy(comment int) (place, bool) {
	lineStart := d.text.lines[d.text.line(comment)-1]
	var before *place
	for i := range d.places {
		if p := &d.places[i]; p.endsWithin(lineStart, comment) && (before == nil || p.span.start >= before.span.start) {
			before = p
		}
	}
	announced := d.announcedBy(lineStart, comment)
	switch {
	case announced != nil && (before == nil || announced.begins > before.begins):
		return *announced, true
	case before != nil && d.adjacent(before.span, comment):
		return *before, true
	case before != nil: // and a bracket after it
		return place{value: &yaml.Node{Kind: yaml.MappingNode}}, true
	}
	return d.below(comment)
}

// below returns what starts on the line after a comment, other comments aside. Anything with different indentation, or after an empty line,
// does not belong to the comment.
func (d *document) below(comment int) (place, bool) {
	next := d.text.skipBlanks(comment)
	before := d.text.content[d.text.lines[d.text.line(comment)-1]:comment]
	alone := strings.Trim(before, " \t") == "" // and not after the dash of an item, to which it then refers
	if alone && d.text.indentation(next) != d.text.indentation(comment) || d.text.emptyLineWithin(comment, next) {
		return place{}, false
	}
	// A mapping starts where its first key does. The comment refers to the key, unless the dash of an item precedes both.
	return d.firstFrom(next, alone)
}

// firstFrom returns the first value that starts at or after an offset. Of several that start exactly there, it returns the innermost if
// requested; otherwise the outermost.
func (d *document) firstFrom(offset int, innermost bool) (place, bool) {
	var found *place
	for i := range d.places {
		p := &d.places[i]
		switch {
		case p.begins < offset:
		case found == nil, p.begins < found.begins:
			found = p
		case innermost && p.begins == found.begins && p.begins == offset:
			found = p
		}
	}
	if found == nil {
		return place{}, false
	}
	return *found, true
}

// endsWithin reports whether the value is a scalar that ends in this part of a line, or a block scalar with its header there.
func (p *place) endsWithin(from, to int) bool {
	scalar := p.value.Kind == yaml.ScalarNode || p.value.Kind == yaml.AliasNode
	return scalar && p.span.end <= to && p.span.end > from
}

// announcedBy returns the value whose key is the last thing on the line before the comment.
func (d *document) announcedBy(lineStart, comment int) *place {
	var found *place
	for i := range d.places {
		p := &d.places[i]
		if p.key.end > lineStart && p.key.end <= comment && d.valueBegins(p) > comment {
			found = p
		}
	}
	return found
}

func (d *document) valueBegins(p *place) int {
	if p.value.Kind == yaml.ScalarNode {
		return p.span.start
	}
	return d.begin(p.value)
}

// adjacent reports whether only white space and a comma separate a scalar from a comment.
func (d *document) adjacent(s span, comment int) bool {
	return strings.Trim(d.text.content[s.end:comment], " \t,") == ""
}

// maxDiagnosed is the maximum number of places that are tried one by one to find the one that cannot hold the revision.
const maxDiagnosed = 50

// replace writes the revision in place of scalars. Apart from these, the result parses like the original.
func (d *document) replace(places []place, revision, file string) ([]byte, error) {
	content := d.with(places, revision)
	if d.differsOnlyAt(places, content, revision) {
		return content, nil
	}
	for _, p := range places[:min(len(places), maxDiagnosed)] {
		alone := []place{p}
		if !d.differsOnlyAt(alone, d.with(alone, revision), revision) {
			return nil, &Problem{
				File: file, Line: p.value.Line,
				Message: fmt.Sprintf("the marked value cannot hold the revision %q: use a plain or quoted string without a tag", revision),
			}
		}
	}
	return nil, &Problem{File: file, Message: fmt.Sprintf("the marked values cannot all hold the revision %q", revision)}
}

// with returns the file with the revision in place of scalars, which must be in the order of the file.
func (d *document) with(places []place, revision string) []byte {
	var out []byte
	written := 0
	for _, p := range places {
		out = append(out, d.text.content[written:p.span.start]...)
		if p.span.start == p.span.end {
			out = append(out, ' ')
		}
		out = append(out, spell(p.value.Style, revision)...)
		written = p.span.end
		if p.span.block {
			out = append(out, d.text.content[written:p.span.bodyStart]...)
			written = p.span.bodyEnd
		}
	}
	return append(out, d.text.content[written:]...)
}

// differsOnlyAt reports whether another content has the revision at the places and is otherwise equal to this document.
func (d *document) differsOnlyAt(places []place, content []byte, revision string) bool {
	other, err := parse("", content)
	if err != nil || len(other.nodes) != len(d.nodes) {
		return false
	}
	for i, was := range d.nodes {
		is := other.nodes[i]
		if len(places) > 0 && places[0].index == i {
			places = places[1:]
			if is.Kind != yaml.ScalarNode || is.Value != revision || is.ShortTag() != "!!str" || is.Anchor != was.Anchor {
				return false
			}
			continue
		}
		if !sameNode(was, is) {
			return false
		}
	}
	return true
}

func sameNode(a, b *yaml.Node) bool {
	sameTag := a.Kind == yaml.AliasNode || a.ShortTag() == b.ShortTag() // an alias has the tag of its value
	return a.Kind == b.Kind && a.Value == b.Value && a.Anchor == b.Anchor && len(a.Content) == len(b.Content) && sameTag
}
