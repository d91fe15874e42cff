// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"encoding/base64"
	"fmt"

	"sigs.k8s.io/yaml"
)

// ResourceKey identifies a resource of a component version absolutely. Templates pass it to deployers as an opaque text.
type ResourceKey struct {
	Component ID
	Resource  Identity
}

// resourceKeyForm is the content of a key: YAML in base64.
type resourceKeyForm struct {
	Component struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"component"`
	Resource Identity `json:"resource"`
}

// Key returns the key of the resolved resource.
func (r Resolution) Key() ResourceKey {
	return ResourceKey{Component: r.Component.ID(), Resource: r.Component.IdentityOf(r.Resource)}
}

// Encode returns the text of the key.
func (k ResourceKey) Encode() (string, error) {
	var form resourceKeyForm
	form.Component.Name, form.Component.Version, form.Resource = k.Component.Name, k.Component.Version, k.Resource
	text, err := yaml.Marshal(form)
	if err != nil {
		return "", fmt.Errorf("write the key of a resource: %w", err)
	}
	return base64.StdEncoding.EncodeToString(text), nil
}

// ParseResourceKey parses the text of a key.
func ParseResourceKey(text string) (ResourceKey, error) {
	document, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return ResourceKey{}, fmt.Errorf("key of a resource: not a text that getResourceKey returned: %w", err)
	}
	tree, err := readDocument(document, referenceLimits)
	if err != nil {
		return ResourceKey{}, fmt.Errorf("key of a resource: %w", err)
	}
	r := &reading{limits: referenceLimits}
	top := r.object("", tree)
	component := top.child("component")
	key := ResourceKey{
		Component: ID{Name: component.required("name"), Version: component.required("version")},
		Resource:  selector(top.child("resource")),
	}
	if err := r.err(); err != nil {
		return ResourceKey{}, fmt.Errorf("key of a resource: %w", err)
	}
	return key, nil
}
