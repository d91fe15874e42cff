// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"espalier.dev/internal/graph"
)

// document is one schema of a bundle, decoded and rewritten.
type document struct {
	// name is its name for people; empty for the main schema.
	name string
	// address is its address for the compiler.
	address string
	// text is the digest of its text.
	text digest
	// reference and from say how it was found.
	reference Reference
	from      string

	root  any
	draft draft
	// refersTo are the identities of other documents.
	refersTo []string
	// references are all objects in it with a $ref.
	references []pointer
	// moved reports whether a part of it has its own identifier, against which the references in that part are resolved.
	moved bool
}

type digest [sha256.Size]byte

// pointer is an object with a $ref, and its destination.
type pointer struct {
	identity string
	fragment string
}

// bundle is a schema with everything that it refers to.
type bundle struct {
	limits    Limits
	draft     draft
	documents map[string]*document
	// order lists the identities in the order of their discovery. The first one is the main schema.
	order []string
	bytes int
	nodes int
	// weights are the step counters that the documents contain.
	weights map[weight]bool
}

const (
	rootIdentity  = ""
	addressPrefix = "schema:///"
)

// collect reads a schema and everything that it refers to.
func collect(text []byte, sources *Sources, limits Limits) (*bundle, error) {
	chosen, err := draftFor(sources.Draft)
	if err != nil {
		return nil, err
	}
	b := &bundle{limits: limits, draft: chosen, documents: map[string]*document{}, weights: map[weight]bool{}}
	root := b.reserve(rootIdentity, Reference{}, rootIdentity)
	queue := []waiting{{document: root, found: found{text: text, at: sources.origin()}}}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		more, err := b.add(next)
		if err != nil {
			return nil, inDocument(next.document.name, err)
		}
		queue = append(queue, more...)
	}
	if err := b.checkCycles(); err != nil {
		return nil, err
	}
	return b, b.checkReferences()
}

// waiting is a document that has been found but not decoded.
type waiting struct {
	identity string
	document *document
	found    found
}

// reserve assigns an address to a document before it is decoded, so that references to it can be written.
func (b *bundle) reserve(identity string, reference Reference, from string) *document {
	result := &document{address: fmt.Sprintf("%s%d", addressPrefix, len(b.order)), reference: reference, from: from}
	if identity != rootIdentity {
		result.name = reference.Document()
	}
	b.documents[identity] = result
	b.order = append(b.order, identity)
	return result
}

// add decodes a document and returns the new documents that it refers to.
func (b *bundle) add(w waiting) ([]waiting, error) {
	root, err := b.decode(w.found.text)
	if err != nil {
		return nil, err
	}
	w.document.root = root
	w.document.text = sha256.Sum256(w.found.text)
	r := &rewriter{bundle: b, document: w.document, identity: w.identity, at: w.found.at}
	if err := r.rewriteDocument(); err != nil {
		return nil, err
	}
	return r.found, nil
}

func (b *bundle) decode(text []byte) (any, error) {
	if len(text) > b.limits.DocumentBytes {
		return nil, invalid("it has more than %d bytes", b.limits.DocumentBytes)
	}
	if b.bytes += len(text); b.bytes > b.limits.Bytes {
		return nil, invalid("it has more than %d bytes together with what it refers to", b.limits.Bytes)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var root any
	if err := decoder.Decode(&root); err != nil {
		return nil, invalid("it is not JSON: %s", jsonFault(err))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, invalid("it is not JSON: unexpected text after the value")
	}
	switch root.(type) {
	case map[string]any, bool:
		return root, nil
	}
	return nil, invalid("a schema is an object, true or false")
}

func jsonFault(err error) string {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Sprintf("%v at byte %d", syntax, syntax.Offset)
	}
	return err.Error()
}

// inDocument names the document that contains a fault.
func inDocument(name string, err error) error {
	var fault *invalidError
	if name == "" || !errors.As(err, &fault) {
		return err
	}
	return invalid("%s: %s", name, fault.message)
}

// checkCycles ensures that no document refers to itself through others.
func (b *bundle) checkCycles() error {
	nodes := make([]graph.Node, 0, len(b.order))
	for _, identity := range b.order[1:] {
		nodes = append(nodes, graph.Node{Name: identity, DependsOn: b.documents[identity].refersTo})
	}
	g, err := graph.New(nodes)
	if err != nil {
		return err
	}
	if cycle := g.Cycle(); cycle != nil {
		return invalid(
			"references form a cycle: %v. Within one schema, refer to a part of it with #/...",
			&graph.CycleError{Cycle: cycle},
		)
	}
	return nil
}

// maxLooseReferences bounds the references that checkReferences cannot follow, and those to places for which the compiler
// must search the whole document again.
const maxLooseReferences = 100

// checkReferences ensures that every reference leads to something other than a reference within a few hops: the validator
// follows such chains without counting steps.
func (b *bundle) checkReferences() error {
	loose := map[pointer]bool{}
	for _, identity := range b.order {
		for _, start := range b.documents[identity].references {
			ends, hops := b.follow(start)
			if hops > b.limits.ReferenceHops {
				return inDocument(
					b.documents[identity].name,
					invalid("the reference to %q leads from reference to reference without end", "#"+start.fragment),
				)
			}
			if !ends || !usualPlace(start.fragment, b.documents[start.identity].draft) {
				loose[start] = true
			}
		}
	}
	if len(loose) > maxLooseReferences {
		return invalid(
			"it has more than %d references by $anchor, $id, $recursiveRef or $dynamicRef, or to places other than definitions and $defs",
			maxLooseReferences,
		)
	}
	return nil
}

// follow reports whether the end of a chain of references could be found, and returns its length.
func (b *bundle) follow(p pointer) (ends bool, hops int) {
	for hops = 1; hops <= b.limits.ReferenceHops; hops++ {
		target := b.documents[p.identity]
		if target == nil || target.moved {
			return false, hops
		}
		value, ok := lookUp(target.root, p.fragment)
		if !ok {
			return false, hops
		}
		object, _ := value.(map[string]any)
		next, ok := object["$ref"].(string)
		if !ok {
			return true, hops
		}
		if p, ok = b.pointerOf(p.identity, next); !ok {
			return false, hops
		}
	}
	return true, hops
}

// pointerOf parses a $ref that has been rewritten already.
func (b *bundle) pointerOf(identity, ref string) (pointer, bool) {
	address, fragment, _ := cutFragment(ref)
	if address == "" {
		return pointer{identity: identity, fragment: fragment}, true
	}
	i := slices.IndexFunc(b.order, func(id string) bool { return b.documents[id].address == address })
	if i < 0 {
		return pointer{}, false
	}
	return pointer{identity: b.order[i], fragment: fragment}, true
}
