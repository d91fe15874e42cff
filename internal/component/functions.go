// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// Content is the content of a resource.
type Content struct {
	Data []byte
	// MediaType determines how templates get the data: as base64 if it is application/octet-stream, otherwise as text.
	MediaType string
}

// ContentProvider returns the content behind an access of a component, or an error that users may see.
type ContentProvider func(of *Descriptor, access Access) (Content, error)

// FunctionOptions are the inputs of the template functions.
type FunctionOptions struct {
	// Set is the component of the installation with everything it refers to. It is nil if the installation names no
	// component; then all functions but those over image references fail.
	Set *Set
	// Schema is the schema in which templates see descriptors; see SchemaFor.
	Schema Schema
	// Content provides the content of resources. Without it, the functions that need it fail.
	Content ContentProvider
}

// Function is a template function. All functions have this type and use only JSON values, so that every template engine can call them in
// the same way. The caller owns the result.
type Function = func(arguments ...any) (any, error)

// Functions returns the template functions over components, by name. Their errors may be shown to users: they quote
// selectors, references and descriptors, but no other value. The functions are:
//
//	getResource [DESCRIPTOR] KEY VALUE ...    the first resource with these attributes of its identity
//	getResources [DESCRIPTOR] KEY VALUE ...   all resources with these attributes
//	getComponent [DESCRIPTOR] KEY VALUE ...   the descriptor of the component to which the first matching reference leads
//	getRepositoryContext [DESCRIPTOR]         the repository to which the component belongs
//	getResourceKey [DESCRIPTOR] REFERENCE     the key by which deployers find a resource
//	getResourceContent [DESCRIPTOR] REFERENCE the content of a resource
//	resolve ACCESS                            the content behind an access specification
//	parseOCIRef REFERENCE                     a list of repository and version of an image reference
//	ociRefRepo REFERENCE                      the repository of an image reference
//	ociRefVersion REFERENCE                   the version of an image reference
//
// A DESCRIPTOR is an object in either schema; without one the component of the installation is meant. KEY is name,
// version, a key of the extra identity or, for getComponent, componentName. A REFERENCE to a resource is a cd:// URI or a
// document with the fields resource and referencePath.
func Functions(options FunctionOptions) map[string]Function {
	f := &functions{FunctionOptions: options}
	if options.Set != nil {
		f.root = options.Set.Root().View(options.Schema)
	}
	return map[string]Function{
		"getResource":          f.getResource,
		"getResources":         f.getResources,
		"getComponent":         f.getComponent,
		"getRepositoryContext": f.getRepositoryContext,
		"getResourceKey":       f.getResourceKey,
		"getResourceContent":   f.getResourceContent,
		"resolve":              f.resolve,
		"parseOCIRef":          parseOCIRef,
		"ociRefRepo":           ociRefRepo,
		"ociRefVersion":        ociRefVersion,
	}
}

var errNoComponent = errors.New("the installation names no component: set spec.componentDescriptor")

type functions struct {
	FunctionOptions
	// root is the view of the root. It is never returned to templates.
	root map[string]any
}

func (f *functions) getResource(arguments ...any) (any, error) {
	found, err := f.selectResources(arguments)
	if err != nil {
		return nil, err
	}
	return clone(found[0]), nil
}

func (f *functions) getResources(arguments ...any) (any, error) {
	found, err := f.selectResources(arguments)
	if err != nil {
		return nil, err
	}
	return clone(found), nil
}

func (f *functions) selectResources(arguments []any) ([]any, error) {
	from, pairs, err := f.descriptor(arguments)
	if err != nil {
		return nil, err
	}
	return from.choose("resource", from.resources, pairs)
}

func (f *functions) getComponent(arguments ...any) (any, error) {
	from, pairs, err := f.descriptor(arguments)
	if err != nil {
		return nil, err
	}
	found, err := from.choose("component reference", from.references, pairs)
	if err != nil {
		return nil, err
	}
	reference := referenceOf(found[0])
	target, err := f.Set.follow(from.id, &reference)
	if err != nil {
		return nil, err
	}
	return target.View(f.Schema), nil
}

func (f *functions) getRepositoryContext(arguments ...any) (any, error) {
	from, rest, err := f.descriptor(arguments)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("the only argument is a component descriptor, got %d more", len(rest))
	}
	if contexts := from.repositoryContexts; len(contexts) > 0 {
		return clone(contexts[len(contexts)-1]), nil
	}
	if d, err := f.Set.Lookup(from.id); err == nil {
		if context := f.Set.RepositoryContextOf(d); !context.IsZero() {
			return context.Object(), nil
		}
	}
	return nil, fmt.Errorf("component %s has no repository context", from.id)
}

func (f *functions) getResourceKey(arguments ...any) (any, error) {
	resolution, err := f.resource(arguments)
	if err != nil {
		return nil, err
	}
	return resolution.Key().Encode()
}

func (f *functions) getResourceContent(arguments ...any) (any, error) {
	resolution, err := f.resource(arguments)
	if err != nil {
		return nil, err
	}
	return f.content(resolution.Component, resolution.Resource.Access)
}

func (f *functions) resolve(arguments ...any) (any, error) {
	if len(arguments) != 1 {
		return nil, fmt.Errorf("the only argument is an access specification, got %d arguments", len(arguments))
	}
	fields, ok := arguments[0].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("an access specification must be an object, is %s", kindOf(arguments[0]))
	}
	access, err := ParseAccess(fields)
	if err != nil {
		return nil, err
	}
	if f.Set == nil {
		return nil, errNoComponent
	}
	return f.content(f.Set.Root(), access)
}

// content returns the content in the form for templates.
func (f *functions) content(of *Descriptor, access Access) (any, error) {
	if f.Content == nil {
		return nil, errors.New("the content of resources is not available here: templates are evaluated without access to repositories")
	}
	content, err := f.Content(of, access)
	if err != nil {
		return nil, err
	}
	if content.MediaType == "application/octet-stream" {
		return base64.StdEncoding.EncodeToString(content.Data), nil
	}
	return string(content.Data), nil
}

// resource follows the reference that is the last argument, starting from the optional descriptor before it.
func (f *functions) resource(arguments []any) (Resolution, error) {
	if f.Set == nil {
		return Resolution{}, errNoComponent
	}
	from := f.Set.Root()
	if len(arguments) == 2 {
		view, _, err := f.descriptor(arguments[:1])
		if err != nil {
			return Resolution{}, err
		}
		if from, err = f.Set.Lookup(view.id); err != nil {
			return Resolution{}, err
		}
		arguments = arguments[1:]
	}
	if len(arguments) != 1 {
		return Resolution{}, fmt.Errorf(
			"the only argument is a reference to a resource, such as cd://resources/NAME, got %d arguments",
			len(arguments),
		)
	}
	ref, err := referenceArgument(arguments[0])
	if err != nil {
		return Resolution{}, err
	}
	return f.Set.Resolve(from, ref)
}

func referenceArgument(argument any) (ResourceReference, error) {
	if text, ok := argument.(string); ok {
		return ParseResourceReference(text)
	}
	return ResourceReferenceFrom(argument)
}

// descriptor returns the descriptor that the arguments start with, or that of the root, and the remaining arguments.
func (f *functions) descriptor(arguments []any) (descriptorView, []any, error) {
	if f.Set == nil {
		return descriptorView{}, nil, errNoComponent
	}
	if len(arguments) > 0 {
		switch first := arguments[0].(type) {
		case map[string]any:
			view, err := viewOf(first)
			return view, arguments[1:], err
		case nil:
			return descriptorView{}, nil, errors.New("the component descriptor is null")
		}
	}
	view, err := viewOf(f.root)
	return view, arguments, err
}

// descriptorView is a descriptor in the form for templates, with the values that the functions need.
type descriptorView struct {
	id                                        ID
	resources, references, repositoryContexts []any
}

func viewOf(descriptor map[string]any) (descriptorView, error) {
	metadata, _ := descriptor["metadata"].(map[string]any)
	lists, _ := descriptor["spec"].(map[string]any)
	contexts, references := descriptor["repositoryContexts"], "references"
	if component, isV2 := descriptor["component"].(map[string]any); isV2 {
		metadata, lists = component, component
		contexts, references = component["repositoryContexts"], "componentReferences"
	}
	if metadata == nil {
		return descriptorView{}, errors.New("the first argument is an object, but not a component descriptor")
	}
	var view descriptorView
	view.id.Name, _ = metadata["name"].(string)
	view.id.Version, _ = metadata["version"].(string)
	view.resources, _ = lists["resources"].([]any)
	view.references, _ = lists[references].([]any)
	view.repositoryContexts, _ = contexts.([]any)
	return view, nil
}

// choose returns the elements that have all the given attributes; there is at least one.
func (v descriptorView) choose(kind string, elements []any, pairs []any) ([]any, error) {
	selector, err := selectorOf(pairs)
	if err != nil {
		return nil, err
	}
	var found []any
	for _, candidate := range elements {
		if reference := referenceOf(candidate); reference.chosen(selector) {
			found = append(found, candidate)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	all := elementsOf(elements, func(element *any) *Element {
		reference := referenceOf(*element)
		return &reference.Element
	})
	return nil, fmt.Errorf("component %s: %w", v.id, notOne(kind, selector, all, nil))
}

// chosen reports whether a reference has all attributes of a selector, which may name the component.
func (r *Reference) chosen(selector Identity) bool {
	component, byComponent := selector[selectComponentName]
	if !byComponent {
		return r.matches(selector)
	}
	rest := maps.Clone(selector)
	delete(rest, selectComponentName)
	return component == r.ComponentName && r.matches(rest)
}

// selectComponentName is a key that selects references although it is not part of their identity.
const selectComponentName = "componentName"

// referenceOf reads the attributes that select an element. Malformed attributes count as missing.
func referenceOf(element any) Reference {
	fields, _ := element.(map[string]any)
	var r Reference
	r.Name, _ = fields["name"].(string)
	r.Version, _ = fields["version"].(string)
	r.ComponentName, _ = fields["componentName"].(string)
	if extra, ok := fields["extraIdentity"].(map[string]any); ok && len(extra) > 0 {
		r.ExtraIdentity = make(map[string]string, len(extra))
		for key, value := range extra {
			r.ExtraIdentity[key], _ = value.(string)
		}
	}
	return r
}

// selectorOf parses pairs of keys and values.
func selectorOf(pairs []any) (Identity, error) {
	if len(pairs) == 0 || len(pairs)%2 != 0 {
		return nil, fmt.Errorf(`a selector consists of pairs of a key and a value, such as "name" "x", got %d arguments`, len(pairs))
	}
	selector := Identity{}
	for i := 0; i < len(pairs); i += 2 {
		key, keyOK := pairs[i].(string)
		value, valueOK := pairs[i+1].(string)
		if !keyOK || !valueOK {
			return nil, fmt.Errorf("the keys and values of a selector must be texts, got %s and %s", kindOf(pairs[i]), kindOf(pairs[i+1]))
		}
		selector[key] = value
	}
	return selector, nil
}

func parseOCIRef(arguments ...any) (any, error) {
	ref, err := imageArgument(arguments)
	if err != nil {
		return nil, err
	}
	return []any{ref.Repository, ref.Version()}, nil
}

func ociRefRepo(arguments ...any) (any, error) {
	ref, err := imageArgument(arguments)
	if err != nil {
		return nil, err
	}
	return ref.Repository, nil
}

func ociRefVersion(arguments ...any) (any, error) {
	ref, err := imageArgument(arguments)
	if err != nil {
		return nil, err
	}
	return ref.Version(), nil
}

func imageArgument(arguments []any) (ImageReference, error) {
	if len(arguments) != 1 {
		return ImageReference{}, fmt.Errorf("the only argument is an image reference, got %d arguments", len(arguments))
	}
	text, ok := arguments[0].(string)
	if !ok {
		return ImageReference{}, fmt.Errorf("an image reference must be a text, is %s", kindOf(arguments[0]))
	}
	return ParseImageReference(strings.TrimSpace(text))
}
