// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"strings"
	"testing"
)

// describe parses a valid descriptor.
func describe(t testing.TB, text string) *Descriptor {
	t.Helper()
	d, err := Parse([]byte(text), DefaultLimits)
	if err != nil {
		t.Fatalf("%v\nin:\n%s", err, text)
	}
	return d
}

// named writes a v2 descriptor with version 1.0.0 of a component whose references have the names of their targets. A
// target may have another version after a colon.
func named(t testing.TB, name string, targets ...string) *Descriptor {
	t.Helper()
	var text strings.Builder
	text.WriteString("meta: {schemaVersion: v2}\ncomponent:\n  name: " + name + "\n  version: 1.0.0\n  componentReferences:\n")
	for _, target := range targets {
		component, version, found := strings.Cut(target, ":")
		if !found {
			version = "1.0.0"
		}
		text.WriteString("  - {name: " + component + ", componentName: " + component + ", version: " + version + "}\n")
	}
	return describe(t, text.String())
}

// at returns coordinates in a registry; an empty registry means none.
func at(t testing.TB, registry, name, version string) Coordinates {
	t.Helper()
	return Coordinates{RepositoryContext: registryAt(t, registry), Name: name, Version: version}
}

func registryAt(t testing.TB, baseURL string) RepositoryContext {
	t.Helper()
	if baseURL == "" {
		return RepositoryContext{}
	}
	context, err := NewRepositoryContext(map[string]any{"type": "ociRegistry", "baseUrl": baseURL})
	if err != nil {
		t.Fatal(err)
	}
	return context
}

// collect completes a closure with the given descriptors.
func collect(options ClosureOptions, at ...*Descriptor) (*Set, error) {
	closure, err := NewClosure(options)
	if err != nil {
		return nil, err
	}
	for wanted := closure.Wanted(); len(wanted) > 0; wanted = closure.Wanted() {
		for _, w := range wanted {
			for _, d := range at {
				if d.ID() != w.At.ID() {
					continue
				}
				if err := closure.Provide(w, d); err != nil {
					return nil, err
				}
			}
		}
	}
	return closure.Set()
}

// setOf returns the closure of the first of some descriptors.
func setOf(t testing.TB, root *Descriptor, others ...*Descriptor) *Set {
	t.Helper()
	set, err := collect(ClosureOptions{Root: at(t, "registry.example.com/base", root.Name, root.Version)}, append(others, root)...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// wantError checks that an error contains all the given texts.
func wantError(t testing.TB, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not contain %q", err, text)
		}
	}
}
