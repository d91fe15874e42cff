// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"sigs.k8s.io/yaml"
)

// View returns the descriptor as templates see it: a JSON object in the given schema, which the caller may change. The lists always exist,
// even if they are empty.
//
// In the schema in which the descriptor was written, nothing is lost. In the other schema, unknown fields stay in their object if it has a
// counterpart; they never replace a known field.
func (d *Descriptor) View(schema Schema) map[string]any {
	if schema == SchemaV3 {
		return d.viewV3()
	}
	return d.viewV2()
}

// JSON returns the descriptor in the given schema.
func (d *Descriptor) JSON(schema Schema) ([]byte, error) {
	text, err := json.Marshal(d.View(schema))
	if err != nil {
		return nil, fmt.Errorf("write component descriptor of %s: %w", d.ID(), err)
	}
	return text, nil
}

// YAML returns the descriptor in the given schema.
func (d *Descriptor) YAML(schema Schema) ([]byte, error) {
	text, err := d.JSON(schema)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(text)
}

func (d *Descriptor) viewV2() map[string]any {
	component := cloneObject(d.unknown.metadata)
	maps.Copy(component, cloneObject(d.unknown.spec))
	maps.Copy(component, cloneObject(d.unknown.component))
	d.writeMetadata(component)
	component["provider"] = d.Provider.text()
	component["repositoryContexts"] = d.viewRepositoryContexts()
	d.writeLists(component, "componentReferences")

	meta := cloneObject(d.unknown.meta)
	meta["schemaVersion"] = string(SchemaV2)

	top := cloneObject(d.unknown.top)
	top["meta"], top["component"] = meta, component
	return top
}

func (d *Descriptor) viewV3() map[string]any {
	metadata := cloneObject(d.unknown.metadata)
	d.writeMetadata(metadata)
	metadata["provider"] = d.Provider.view()

	spec := cloneObject(d.unknown.component)
	maps.Copy(spec, cloneObject(d.unknown.spec))
	d.writeLists(spec, "references")

	top := cloneObject(d.unknown.top)
	top["apiVersion"], top["kind"] = string(SchemaV3), kindV3
	top["metadata"], top["spec"] = metadata, spec
	top["repositoryContexts"] = d.viewRepositoryContexts()
	return top
}

func (d *Descriptor) writeMetadata(into map[string]any) {
	into["name"], into["version"] = d.Name, d.Version
	writeLabels(into, d.Labels)
	writeText(into, "creationTime", d.CreationTime)
}

func (d *Descriptor) writeLists(into map[string]any, references string) {
	into["resources"] = viewList(d.Resources, (*Resource).view)
	into["sources"] = viewList(d.Sources, (*Source).view)
	into[references] = viewList(d.References, (*Reference).view)
}

func (d *Descriptor) viewRepositoryContexts() []any {
	return viewList(d.RepositoryContexts, (*RepositoryContext).Object)
}

func viewList[T any](list []T, view func(*T) map[string]any) []any {
	views := make([]any, len(list))
	for i := range list {
		views[i] = view(&list[i])
	}
	return views
}

func (e *Element) view() map[string]any {
	view := cloneObject(e.unknown)
	view["name"], view["version"] = e.Name, e.Version
	writeLabels(view, e.Labels)
	delete(view, "extraIdentity")
	if len(e.ExtraIdentity) > 0 {
		identity := make(map[string]any, len(e.ExtraIdentity))
		for key, value := range e.ExtraIdentity {
			identity[key] = value
		}
		view["extraIdentity"] = identity
	}
	return view
}

func (r *Resource) view() map[string]any {
	view := r.Element.view()
	view["type"] = r.Type
	writeText(view, "relation", r.Relation)
	view["access"] = cloneObject(r.Access.fields)
	return view
}

func (s *Source) view() map[string]any {
	view := s.Element.view()
	view["type"] = s.Type
	if s.Access.Type != "" {
		view["access"] = cloneObject(s.Access.fields)
	}
	return view
}

func (r *Reference) view() map[string]any {
	view := r.Element.view()
	view["componentName"] = r.ComponentName
	return view
}

func (l *Label) view() map[string]any {
	view := cloneObject(l.unknown)
	view["name"], view["value"] = l.Name, clone(l.Value)
	return view
}

func writeLabels(into map[string]any, labels []Label) {
	delete(into, "labels")
	if len(labels) > 0 {
		into["labels"] = viewList(labels, (*Label).view)
	}
}

func writeText(into map[string]any, name, text string) {
	delete(into, name)
	if text != "" {
		into[name] = text
	}
}

func (p *Provider) view() map[string]any {
	view := cloneObject(p.unknown)
	view["name"] = p.Name
	writeLabels(view, p.Labels)
	return view
}

// text returns the form of schema v2: the name if there is nothing else, otherwise the whole provider as JSON.
func (p *Provider) text() string {
	if len(p.Labels) == 0 && len(p.unknown) == 0 && !strings.HasPrefix(p.Name, "{") {
		return p.Name
	}
	text, err := json.Marshal(p.view())
	if err != nil {
		return p.Name
	}
	return string(text)
}
