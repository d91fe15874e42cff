// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"encoding/json"
	"fmt"
	"slices"

	"espalier.dev/internal/component"
)

// Names of normal forms.
const (
	NormalisationV1 = "jsonNormalisation/v1"
	NormalisationV2 = "jsonNormalisation/v2"
	NormalisationV3 = "jsonNormalisation/v3"
	// normalisationV4 is version 3 under another name.
	normalisationV4 = "jsonNormalisation/v4alpha1"
)

// Digests are set in a descriptor before it is normalised, by the position of resources and references. A zero Digest means none.
type Digests struct {
	Resources  []Digest
	References []Digest
}

// StoredDigests returns the digests of a descriptor. A resource without content has none, even if it lists one.
func StoredDigests(d *component.Descriptor) Digests {
	spec, _ := d.View(component.SchemaV3)["spec"].(map[string]any)
	digests := Digests{Resources: digestsOf(spec["resources"]), References: digestsOf(spec["references"])}
	for i := range d.Resources {
		if hasNoContent(&d.Resources[i]) {
			digests.Resources[i] = Digest{}
		}
	}
	return digests
}

func digestsOf(list any) []Digest {
	elements, _ := list.([]any)
	digests := make([]Digest, len(elements))
	for i, element := range elements {
		fields, _ := element.(map[string]any)
		digests[i] = digestOf(fields["digest"])
	}
	return digests
}

// hasNoContent reports whether a resource declares that it has no content.
func hasNoContent(r *component.Resource) bool {
	return r.Access.Type == "none" || r.Access.Type == "none/v1" || r.Access.Type == "None"
}

// Normalise returns the normal form of a descriptor, with the given digests.
func Normalise(d *component.Descriptor, form string, digests Digests) ([]byte, error) {
	n := normaliser{descriptor: d, digests: digests}
	switch form {
	case NormalisationV1:
		n.tellApart = true
		if d.Schema == component.SchemaV3 {
			return entries(n.ownV3())
		}
		return entries(n.ownV2())
	case NormalisationV2:
		n.tellApart = true
		return canonical(n.neutral())
	case NormalisationV3, normalisationV4:
		return canonical(n.neutral())
	}
	return nil, fmt.Errorf("unknown normalisation %q: it must be %s, /v2 or /v3", form, NormalisationV1)
}

// normaliser computes normal forms of one descriptor.
type normaliser struct {
	descriptor *component.Descriptor
	digests    Digests
	// tellApart adds the version to the extra identity of resources that differ only in their version, one after another: of two such
	// resources only the first is changed.
	tellApart bool
}

// ownV2 is the form of a descriptor in schema v2, which omits sources.
func (n *normaliser) ownV2() map[string]any {
	c := n.metadata()
	c["provider"] = n.providerV2()
	c["resources"] = n.elements("resources", withNullIdentity)
	c["componentReferences"] = n.elements("references", withNullIdentity, withSignedLabels)
	return map[string]any{"meta": map[string]any{"schemaVersion": string(component.SchemaV2)}, "component": c}
}

// providerV2 is a string, or an object if the provider has labels.
func (n *normaliser) providerV2() any {
	if len(n.descriptor.Provider.Labels) == 0 {
		return n.descriptor.Provider.Name
	}
	return n.provider(signedLabels)
}

// ownV3 is the form of a descriptor in schema v3alpha1, which includes all labels of the provider.
func (n *normaliser) ownV3() map[string]any {
	metadata := n.metadata()
	metadata["provider"] = n.provider(allLabels)
	spec := map[string]any{}
	for name, list := range map[string][]any{
		"resources":  n.elements("resources"),
		"sources":    n.elements("sources"),
		"references": n.elements("references", withSignedLabels),
	} {
		if len(list) > 0 {
			spec[name] = list
		}
	}
	view := n.descriptor.View(component.SchemaV3)
	return map[string]any{"apiVersion": view["apiVersion"], "kind": view["kind"], "metadata": metadata, "spec": spec}
}

// neutral is the form that does not depend on the schema. It includes all labels of references, signed or not.
func (n *normaliser) neutral() map[string]any {
	c := n.metadata()
	c["provider"] = n.provider(signedLabels)
	c["resources"] = n.elements("resources")
	c["sources"] = n.elements("sources")
	c["componentReferences"] = n.elements("references")
	return map[string]any{"component": c}
}

// metadata returns the start of all forms.
func (n *normaliser) metadata() map[string]any {
	own, _ := n.descriptor.View(component.SchemaV3)["metadata"].(map[string]any)
	return keep(own, signedLabels, "name", "version", "creationTime")
}

func (n *normaliser) provider(labels func(any) []any) map[string]any {
	own, _ := n.descriptor.View(component.SchemaV3)["metadata"].(map[string]any)
	provider, _ := own["provider"].(map[string]any)
	return keep(provider, labels, "name")
}

// keep returns an object with the named fields, and its labels if any remain.
func keep(object map[string]any, labels func(any) []any, names ...string) map[string]any {
	kept := map[string]any{}
	for _, name := range names {
		if value, found := object[name]; found && value != nil {
			kept[name] = value
		}
	}
	if remaining := labels(object["labels"]); len(remaining) > 0 {
		kept["labels"] = remaining
	}
	return kept
}

// signedLabels keeps the signed parts of labels.
func signedLabels(value any) []any {
	return chosenLabels(value, func(label map[string]any) bool {
		return label["signing"] == true || label["signing"] == "true"
	}, "name", "version", "value", "signing")
}

// allLabels keeps all labels with all their fields.
func allLabels(value any) []any {
	return chosenLabels(value, func(map[string]any) bool { return true }, "name", "version", "value", "signing", "merge")
}

func chosenLabels(value any, chosen func(map[string]any) bool, names ...string) []any {
	var kept []any
	list, _ := value.([]any)
	for _, item := range list {
		label, _ := item.(map[string]any)
		if !chosen(label) {
			continue
		}
		object := keep(label, func(any) []any { return nil }, names...)
		if object["signing"] == false {
			delete(object, "signing")
		}
		kept = append(kept, object)
	}
	return kept
}

// variation is a difference in how forms treat elements.
type variation int

const (
	withNullIdentity variation = iota
	withSignedLabels
)

// elementFields are the fields of resources, sources and references that are part of normal forms.
var elementFields = []string{"name", "version", "extraIdentity", "type", "relation", "referenceHints", "componentName"}

// elements returns the resources, sources or references; the list is never nil.
func (n *normaliser) elements(kind string, variations ...variation) []any {
	spec, _ := n.descriptor.View(component.SchemaV3)["spec"].(map[string]any)
	list, _ := spec[kind].([]any)
	labels := signedLabels
	if kind == "references" && !slices.Contains(variations, withSignedLabels) {
		labels = allLabels
	}
	result := make([]any, len(list))
	for i, item := range list {
		fields, _ := item.(map[string]any)
		element := keep(fields, labels, elementFields...)
		if digest := n.digest(kind, i); digest != (Digest{}) {
			element["digest"] = digest.object()
		}
		result[i] = element
	}
	if kind == "resources" && n.tellApart {
		tellApart(result)
	}
	if slices.Contains(variations, withNullIdentity) {
		for _, item := range result {
			element := item.(map[string]any)
			if _, found := element["extraIdentity"]; !found {
				element["extraIdentity"] = nil
			}
		}
	}
	return result
}

func (n *normaliser) digest(kind string, i int) Digest {
	digests := n.digests.References
	if kind == "resources" {
		digests = n.digests.Resources
	}
	if kind == "sources" || i >= len(digests) {
		return Digest{}
	}
	return digests[i]
}

// tellApart adds the version to the extra identity of elements as long as another one has the same name and extra identity.
func tellApart(elements []any) {
	for i, item := range elements {
		element := item.(map[string]any)
		identity, _ := element["extraIdentity"].(map[string]any)
		if _, own := identity["version"]; own || !hasNamesake(elements, i) {
			continue
		}
		extended := map[string]any{"version": element["version"]}
		for key, value := range identity {
			extended[key] = value
		}
		element["extraIdentity"] = extended
	}
}

func hasNamesake(elements []any, of int) bool {
	own := identityText(elements[of])
	for i, other := range elements {
		if i != of && identityText(other) == own {
			return true
		}
	}
	return false
}

func identityText(item any) string {
	element := item.(map[string]any)
	text, _ := json.Marshal([]any{element["name"], element["extraIdentity"]})
	return string(text)
}
