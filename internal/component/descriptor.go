// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

// Descriptor describes one version of a component. It never changes after it is read, so it may be shared.
type Descriptor struct {
	// Schema is the schema in which the descriptor was written.
	Schema  Schema
	Name    string
	Version string
	Labels  []Label
	// Provider is who provides the component.
	Provider Provider
	// CreationTime is kept as written.
	CreationTime string
	// RepositoryContexts are the repositories through which the component was transported, the latest last.
	RepositoryContexts []RepositoryContext
	Sources            []Source
	References         []Reference
	Resources          []Resource

	unknown unknownFields
}

// unknownFields are the fields that this package does not support, by the object that contains them.
type unknownFields struct {
	top, meta, component, metadata, spec map[string]any
}

// ID names a version of a component, independent of its location.
type ID struct {
	Name    string
	Version string
}

// String returns name and version, separated by a colon.
func (i ID) String() string { return i.Name + ":" + i.Version }

// ID returns the ID of the component version.
func (d *Descriptor) ID() ID { return ID{Name: d.Name, Version: d.Version} }

// EffectiveRepositoryContext returns the last repository through which the component was transported; it is zero if the descriptor names
// none.
func (d *Descriptor) EffectiveRepositoryContext() RepositoryContext {
	if len(d.RepositoryContexts) == 0 {
		return RepositoryContext{}
	}
	return d.RepositoryContexts[len(d.RepositoryContexts)-1]
}

// Provider is who provides a component.
type Provider struct {
	Name   string
	Labels []Label

	unknown map[string]any
}

// Label is a named value of any kind.
type Label struct {
	Name string
	// Value is JSON: nil, bool, int64, float64, string, []any or map[string]any.
	Value any

	unknown map[string]any
}

// Element is the common part of resources, sources and references.
type Element struct {
	Name          string
	Version       string
	ExtraIdentity map[string]string
	Labels        []Label

	unknown map[string]any
}

// Label returns the value of a label.
func (e *Element) Label(name string) (any, bool) {
	for i := range e.Labels {
		if e.Labels[i].Name == name {
			return e.Labels[i].Value, true
		}
	}
	return nil, false
}

// Resource is something that a component delivers.
type Resource struct {
	Element
	Type string
	// Relation is "local" if the component's provider creates the resource, otherwise "external".
	Relation string
	Access   Access
}

// relationLocal is the relation of resources that default to the version of the component.
const relationLocal = "local"

// Types of resources that installations refer to.
const (
	TypeBlueprint      = "landscaper.gardener.cloud/blueprint"
	typeBlueprintShort = "blueprint"
	TypeJSONSchema     = "landscaper.gardener.cloud/jsonschema"
)

// IsBlueprint reports whether the type of the resource is that of a blueprint.
func (r *Resource) IsBlueprint() bool { return r.Type == TypeBlueprint || r.Type == typeBlueprintShort }

// Source is a source from which a component is built.
type Source struct {
	Element
	Type string
	// Access is empty if the descriptor does not contain the location of the source.
	Access Access
}

// Reference refers to a version of another component.
type Reference struct {
	Element
	ComponentName string
}

// Target returns what the reference refers to before overwrites.
func (r *Reference) Target() ID { return ID{Name: r.ComponentName, Version: r.Version} }
