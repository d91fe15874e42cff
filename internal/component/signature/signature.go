// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"fmt"
	"slices"
	"strings"

	"espalier.dev/internal/component"
)

// Signature is a signature of a descriptor.
type Signature struct {
	Name string
	// Digest is the digest of the normal form, which was signed.
	Digest Digest
	// Algorithm is the algorithm of the signature, MediaType the encoding of Value.
	Algorithm string
	MediaType string
	Value     string
	// Issuer is the distinguished name of the signer; it may be empty.
	Issuer string
}

// Find returns the signature with a name.
func Find(d *component.Descriptor, name string) (Signature, error) {
	var names []string
	list, _ := d.View(d.Schema)["signatures"].([]any)
	for _, item := range list {
		fields, _ := item.(map[string]any)
		signature := read(fields)
		if signature.Name == name {
			return signature, nil
		}
		names = append(names, signature.Name)
	}
	if len(names) == 0 {
		return Signature{}, fmt.Errorf("component %s: no signature %q, it is not signed", d.ID(), name)
	}
	slices.Sort(names)
	return Signature{}, fmt.Errorf("component %s: it has no signature %q; it has %s", d.ID(), name, strings.Join(names, ", "))
}

func read(fields map[string]any) Signature {
	inner, _ := fields["signature"].(map[string]any)
	s := Signature{Digest: digestOf(fields["digest"])}
	s.Name, _ = fields["name"].(string)
	s.Algorithm, _ = inner["algorithm"].(string)
	s.MediaType, _ = inner["mediaType"].(string)
	s.Value, _ = inner["value"].(string)
	s.Issuer, _ = inner["issuer"].(string)
	return s
}

// nested are the digests that a descriptor lists for the components below it, instead of storing them in each.
type nested map[component.ID]nestedDigest

type nestedDigest struct {
	digest    Digest
	resources []nestedResource
}

type nestedResource struct {
	element component.Element
	digest  Digest
}

// nestedDigests returns nil if the descriptor has no such list.
func nestedDigests(d *component.Descriptor) nested {
	list, _ := d.View(d.Schema)["nestedDigests"].([]any)
	if len(list) == 0 {
		return nil
	}
	result := nested{}
	for _, item := range list {
		fields, _ := item.(map[string]any)
		var id component.ID
		id.Name, _ = fields["name"].(string)
		id.Version, _ = fields["version"].(string)
		one := nestedDigest{digest: digestOf(fields["digest"])}
		resources, _ := fields["resourceDigests"].([]any)
		for _, resource := range resources {
			one.resources = append(one.resources, readNestedResource(resource))
		}
		result[id] = one
	}
	return result
}

func readNestedResource(value any) nestedResource {
	fields, _ := value.(map[string]any)
	r := nestedResource{digest: digestOf(fields["digest"])}
	r.element.Name, _ = fields["name"].(string)
	r.element.Version, _ = fields["version"].(string)
	extra, _ := fields["extraIdentity"].(map[string]any)
	for key, value := range extra {
		if r.element.ExtraIdentity == nil {
			r.element.ExtraIdentity = map[string]string{}
		}
		r.element.ExtraIdentity[key], _ = value.(string)
	}
	return r
}
