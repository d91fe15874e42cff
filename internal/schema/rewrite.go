// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// rewriter prepares one decoded document for the compiler: references to other documents become addresses, forms of older
// drafts become those of newer ones, and schemas that cause further work get a step counter. It modifies the document in
// place, and never moves anything, because references point to places.
type rewriter struct {
	bundle   *bundle
	document *document
	identity string
	at       origin
	// found are the documents first referred to by this one.
	found []waiting
}

// role is what the value of a keyword is.
type role int

const (
	// roleSchema is a schema, or a list of schemas. Values of unknown keywords count as such, because a reference may point
	// there.
	roleSchema role = iota
	// roleNamed is an object whose values are schemas.
	roleNamed
	// roleData is not a schema, whatever it looks like.
	roleData
)

var roles = map[string]role{
	"properties": roleNamed, "patternProperties": roleNamed, "definitions": roleNamed, "$defs": roleNamed,
	"dependentSchemas": roleNamed, "dependencies": roleNamed,
	"enum": roleData, "const": roleData, "default": roleData, "examples": roleData, "required": roleData,
	"dependentRequired": roleData, "$vocabulary": roleData,
}

func (r *rewriter) rewriteDocument() error {
	r.document.draft = r.bundle.draft
	if object, ok := r.document.root.(map[string]any); ok {
		if text, ok := object["$schema"].(string); ok {
			var err error
			if r.document.draft, err = draftFor(text); err != nil {
				return err
			}
			object["$schema"] = r.document.draft.uri
		}
	}
	return r.value(r.document.root, roleSchema, 0)
}

// value rewrites the value of a keyword.
func (r *rewriter) value(value any, as role, depth int) error {
	switch v := value.(type) {
	case map[string]any:
		return r.object(v, as, depth)
	case []any:
		return r.list(v, as, depth)
	}
	return nil
}

func (r *rewriter) list(list []any, as role, depth int) error {
	if err := r.enter(depth); err != nil {
		return err
	}
	for _, element := range list {
		if err := r.value(element, as, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (r *rewriter) object(object map[string]any, as role, depth int) error {
	if err := r.enter(depth); err != nil {
		return err
	}
	if as == roleSchema {
		if err := r.schema(object, depth); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		inner := roleSchema
		switch as {
		case roleData:
			inner = roleData
		case roleSchema:
			inner = roles[key]
		}
		if err := r.value(object[key], inner, depth+1); err != nil {
			return err
		}
	}
	if as == roleSchema {
		r.countSteps(object)
	}
	return nil
}

// enter counts an object or list.
func (r *rewriter) enter(depth int) error {
	if depth > r.bundle.limits.Depth {
		return invalid("it is nested more than %d levels deep", r.bundle.limits.Depth)
	}
	if r.bundle.nodes++; r.bundle.nodes > r.bundle.limits.Nodes {
		return invalid("it has more than %d objects and lists together with what it refers to", r.bundle.limits.Nodes)
	}
	return nil
}

// schema rewrites the keywords of one schema, not those below.
func (r *rewriter) schema(object map[string]any, depth int) error {
	if depth > 0 && (isText(object["$id"]) || r.document.draft.version == 4 && isText(object["id"])) {
		r.document.moved = true
	}
	r.modernise(object, "minimum", "exclusiveMinimum")
	r.modernise(object, "maximum", "exclusiveMaximum")
	for _, keyword := range []string{"$recursiveRef", "$dynamicRef"} {
		if isText(object[keyword]) {
			r.document.references = append(r.document.references, pointer{
				identity: unknownIdentity,
				fragment: fmt.Sprint(len(r.document.references)),
			})
		}
	}
	if text, ok := object["$ref"].(string); ok {
		return r.refer(object, text)
	}
	return nil
}

func isText(value any) bool {
	_, ok := value.(string)
	return ok
}

// modernise converts the exclusive bound of draft 4, a switch beside the bound, to the bound of later drafts.
func (r *rewriter) modernise(object map[string]any, bound, exclusive string) {
	on, ok := object[exclusive].(bool)
	if !ok || r.document.draft.version == 4 {
		return
	}
	delete(object, exclusive)
	if value, ok := object[bound]; ok && on {
		delete(object, bound)
		object[exclusive] = value
	}
}

// unknownIdentity belongs to no document: only the compiler knows where the reference leads.
const unknownIdentity = "?"

// refer rewrites a $ref to the address of its document, and ensures that this document is read.
func (r *rewriter) refer(object map[string]any, text string) error {
	reference, ours, err := ParseReference(text)
	if err != nil {
		return invalid("%v", err)
	}
	if !ours {
		return r.referWithin(text)
	}
	identity := r.at.identity(reference)
	target, err := r.target(identity, reference)
	if err != nil {
		return err
	}
	if !slices.Contains(r.document.refersTo, identity) {
		r.document.refersTo = append(r.document.refersTo, identity)
	}
	r.document.references = append(r.document.references, pointer{identity: identity, fragment: reference.Fragment})
	object["$ref"] = target.address + "#" + reference.Fragment
	return nil
}

// referWithin handles references with other schemes. Those within the document are left to the compiler, which knows
// identifiers and anchors; it loads nothing.
func (r *rewriter) referWithin(text string) error {
	address, fragment, _ := cutFragment(text)
	if strings.Contains(address, "://json-schema.org/") {
		return invalid("it refers to %q: schemas of JSON Schema itself are not available", text)
	}
	p := pointer{identity: unknownIdentity, fragment: fragment}
	if address == "" {
		p.identity = r.identity
	}
	r.document.references = append(r.document.references, p)
	return nil
}

// target returns the document with an identity, and reads it if it is new.
func (r *rewriter) target(identity string, reference Reference) (*document, error) {
	if known, ok := r.bundle.documents[identity]; ok {
		return known, nil
	}
	if len(r.bundle.order) >= r.bundle.limits.Documents {
		return nil, invalid("it refers to more than %d schemas, directly or not, itself included", r.bundle.limits.Documents)
	}
	content, err := r.at.read(reference, r.bundle.limits.DocumentBytes)
	if err != nil {
		return nil, err
	}
	target := r.bundle.reserve(identity, reference, r.identity)
	r.found = append(r.found, waiting{identity: identity, document: target, found: content})
	return target, nil
}
