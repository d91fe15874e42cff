// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"errors"
	"fmt"
)

// Parse parses a component descriptor of either schema, JSON or YAML. Unknown fields are kept.
//
// It requires only what is needed to work with a component: names, versions, and the locations of resources. Full conformance
// to OCM is up to the tools that write descriptors.
func Parse(data []byte, limits Limits) (*Descriptor, error) {
	tree, err := readDocument(data, limits)
	if err != nil {
		return nil, fmt.Errorf("component descriptor: %w", err)
	}
	return fromTree(tree, limits)
}

func fromTree(tree any, limits Limits) (*Descriptor, error) {
	r := &reading{limits: limits}
	descriptor, err := r.descriptor(tree)
	if err == nil {
		err = r.err()
	}
	if err == nil {
		return descriptor, nil
	}
	if descriptor != nil && descriptor.Name != "" {
		return nil, fmt.Errorf("component descriptor of %s: %w", descriptor.ID(), err)
	}
	return nil, fmt.Errorf("component descriptor: %w", err)
}

func (r *reading) descriptor(tree any) (*Descriptor, error) {
	fields, ok := tree.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("must be an object, is %s", kindOf(tree))
	}
	top := r.object("", fields)
	if meta, _ := fields["meta"].(map[string]any); meta["schemaVersion"] != nil && fields["apiVersion"] != nil {
		return nil, errors.New("it has both meta.schemaVersion and apiVersion: keep the one whose schema it is written in")
	}
	if top.fields["apiVersion"] != nil {
		return r.descriptorV3(top)
	}
	if top.fields["meta"] != nil {
		return r.descriptorV2(top)
	}
	return nil, errors.New("it needs meta.schemaVersion: v2 or apiVersion: ocm.software/v3alpha1")
}

func (r *reading) descriptorV2(top object) (*Descriptor, error) {
	meta := top.child("meta")
	if version := meta.required("schemaVersion"); version != "" && version != string(SchemaV2) {
		return nil, fmt.Errorf("meta.schemaVersion: %q is unknown, must be %s (or use apiVersion: %s)", version, SchemaV2, SchemaV3)
	}
	if top.fields["component"] == nil {
		return nil, errors.New("component: is required")
	}
	component := top.child("component")
	d := &Descriptor{Schema: SchemaV2}
	d.readMetadata(component)
	d.readLists(component, "componentReferences")
	d.RepositoryContexts = repositoryContexts(component)
	d.unknown = unknownFields{top: top.rest(), meta: meta.rest(), component: component.rest()}
	return d, nil
}

func (r *reading) descriptorV3(top object) (*Descriptor, error) {
	if version := top.text("apiVersion"); version != "" && version != string(SchemaV3) {
		return nil, fmt.Errorf("apiVersion: %q is unknown, must be %s (or use meta.schemaVersion: %s)", version, SchemaV3, SchemaV2)
	}
	if kind := top.text("kind"); kind != "" && kind != kindV3 {
		return nil, fmt.Errorf("kind: is %q, must be %s", kind, kindV3)
	}
	metadata, spec := top.child("metadata"), top.child("spec")
	d := &Descriptor{Schema: SchemaV3}
	d.readMetadata(metadata)
	d.readLists(spec, "references")
	d.RepositoryContexts = repositoryContexts(top)
	d.unknown = unknownFields{top: top.rest(), metadata: metadata.rest(), spec: spec.rest()}
	return d, nil
}

func (d *Descriptor) readMetadata(o object) {
	d.Name = o.required("name")
	d.Version = o.required("version")
	d.Labels = labels(o)
	d.Provider = provider(o)
	d.CreationTime = o.text("creationTime")
}

func (d *Descriptor) readLists(o object, references string) {
	d.Resources = resources(o, d.Version)
	d.Sources = sources(o)
	d.References = referencesIn(o, references)
}

// provider is an object with a name. In schema v2 it is a text: the name alone, or such an object as JSON.
func provider(o object) Provider {
	value := o.take("provider")
	text, isText := value.(string)
	if !isText {
		return providerObject(o.in.object(o.at("provider"), value))
	}
	if len(text) == 0 || text[0] != '{' {
		return Provider{Name: text}
	}
	if inner, err := readJSON([]byte(text), o.in.limits); err == nil {
		return providerObject(o.in.object(o.at("provider"), inner))
	}
	return Provider{Name: text}
}

func providerObject(o object) Provider {
	if len(o.fields) == 0 {
		return Provider{}
	}
	return Provider{Name: o.text("name"), Labels: labels(o), unknown: o.rest()}
}

func repositoryContexts(o object) []RepositoryContext {
	var contexts []RepositoryContext
	for _, entry := range o.children("repositoryContexts") {
		context, err := NewRepositoryContext(entry.fields)
		if err != nil {
			o.in.wrong(entry.path, "%s", err)
		}
		contexts = append(contexts, context)
	}
	return contexts
}

func labels(o object) []Label {
	var labels []Label
	for _, entry := range o.children("labels") {
		labels = append(labels, Label{Name: entry.required("name"), Value: entry.take("value"), unknown: entry.rest()})
	}
	return labels
}

// element reads the common part of all elements. It is called last, because it keeps the remaining fields.
func element(o object) Element {
	return Element{
		Name: o.required("name"), Version: o.text("version"), ExtraIdentity: o.texts("extraIdentity"), Labels: labels(o),
		unknown: o.rest(),
	}
}

func resources(o object, componentVersion string) []Resource {
	var resources []Resource
	distinct := distinctElements{}
	for _, entry := range o.children("resources") {
		r := Resource{Type: entry.text("type"), Relation: entry.text("relation"), Access: access(entry, true)}
		r.Element = element(entry)
		if r.Version == "" && r.Relation == relationLocal {
			r.Version = componentVersion
		}
		distinct.add(entry, &r.Element)
		resources = append(resources, r)
	}
	return resources
}

func sources(o object) []Source {
	var sources []Source
	distinct := distinctElements{}
	for _, entry := range o.children("sources") {
		s := Source{Type: entry.text("type"), Access: access(entry, false)}
		s.Element = element(entry)
		distinct.add(entry, &s.Element)
		sources = append(sources, s)
	}
	return sources
}

func referencesIn(o object, field string) []Reference {
	var references []Reference
	distinct := distinctElements{}
	for _, entry := range o.children(field) {
		if version := entry.fields["version"]; version == nil || version == "" {
			entry.wrong("version", "is required")
		}
		r := Reference{ComponentName: entry.required("componentName")}
		r.Element = element(entry)
		distinct.add(entry, &r.Element)
		references = append(references, r)
	}
	return references
}

func access(o object, required bool) Access {
	if o.fields["access"] == nil {
		if required {
			o.wrong("access", "is required")
		}
		delete(o.fields, "access")
		return Access{}
	}
	fields := o.child("access")
	kind := fields.required("type")
	if kind == "" {
		return Access{}
	}
	fields.fields["type"] = kind
	return Access{Type: kind, fields: fields.fields}
}

// distinctElements finds elements that cannot be distinguished.
type distinctElements map[string]string

func (d distinctElements) add(o object, e *Element) {
	identity := e.fullIdentity().String()
	if other, taken := d[identity]; taken {
		o.in.wrong(o.path, "has the same name, version and extra identity as %s: %s", other, identity)
		return
	}
	d[identity] = o.path
}
