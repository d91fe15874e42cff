// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"espalier.dev/internal/component"
)

// named writes a v2 descriptor with version 1.0.0 of a component whose references have the names of their targets.
func named(t testing.TB, name string, targets ...string) *component.Descriptor {
	t.Helper()
	d, err := component.Parse([]byte(text(name, targets...)), component.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func text(name string, targets ...string) string {
	var text strings.Builder
	text.WriteString("meta: {schemaVersion: v2}\ncomponent:\n  name: " + name + "\n  version: 1.0.0\n  componentReferences:\n")
	for _, target := range targets {
		text.WriteString("  - {name: " + target + ", componentName: " + target + ", version: 1.0.0}\n")
	}
	return text.String()
}

func at(name string) component.Coordinates {
	return component.Coordinates{Name: name, Version: "1.0.0"}
}

func memory(t testing.TB, descriptors ...*component.Descriptor) *Memory {
	t.Helper()
	m, err := NewMemory(descriptors...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

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

func TestMemory(t *testing.T) {
	a := named(t, "a")
	m := memory(t, a, named(t, "b"), named(t, "a"))
	if d, err := m.Descriptor(t.Context(), at("a")); err != nil || d.ID() != a.ID() {
		t.Errorf("got %v, %v", d, err)
	}
	_, err := m.Descriptor(t.Context(), at("c"))
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	_, err = NewMemory(a, named(t, "a", "b"))
	wantError(t, err, "component a:1.0.0 is given twice")
}

// broken is an unreachable repository.
type broken struct{}

var errBroken = errors.New("connection refused")

func (broken) Descriptor(context.Context, component.Coordinates) (*component.Descriptor, error) {
	return nil, errBroken
}

func TestFirst(t *testing.T) {
	one, two := memory(t, named(t, "a")), memory(t, named(t, "a", "x"), named(t, "b"))
	sources := First{one, two}
	if d, err := sources.Descriptor(t.Context(), at("a")); err != nil || len(d.References) != 0 {
		t.Errorf("got %v, %v", d, err)
	}
	if d, err := sources.Descriptor(t.Context(), at("b")); err != nil || d.Name != "b" {
		t.Errorf("got %v, %v", d, err)
	}
	for name, none := range map[string]First{"nowhere": {one, two}, "no source": {}} {
		if _, err := none.Descriptor(t.Context(), at("c")); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	// A repository that does not answer may have the component, so the next one must not be asked.
	if _, err := (First{broken{}, two}).Descriptor(t.Context(), at("b")); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
}

func TestReadDirectory(t *testing.T) {
	directory := fstest.MapFS{
		"component-descriptor.yaml":              {Data: []byte(text("root", "database", "web"))},
		"component-descriptor-database.yml":      {Data: []byte(text("database"))},
		"web/component-descriptor.json":          {Data: []byte(`{"meta":{"schemaVersion":"v2"},"component":{"name":"web","version":"1.0.0"}}`)},
		"web/blobs/component-descriptor.yaml":    {Data: []byte("a blob that is not read")},
		"web/blueprint/blueprint.yaml":           {Data: []byte("{")},
		"deep/down/component-descriptor-v3.yaml": {Data: []byte("apiVersion: ocm.software/v3alpha1\nmetadata: {name: deep, version: 1.0.0}")},
		"component-descriptor.txt":               {Data: []byte("{")},
		"README.md":                              {Data: []byte("{")},
	}
	m, err := ReadDirectory(directory, component.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"root", "database", "web", "deep"} {
		if d, err := m.Descriptor(t.Context(), at(name)); err != nil || d.Name != name {
			t.Errorf("%s: got %v, %v", name, d, err)
		}
	}
	if len(m.descriptors) != 4 {
		t.Errorf("got %d descriptors", len(m.descriptors))
	}
}

func TestReadDirectoryRefuses(t *testing.T) {
	small := component.Limits{Bytes: 200, Depth: 10, Values: 100, Elements: 10}
	cases := map[string]struct {
		directory fstest.MapFS
		want      []string
	}{
		"a broken descriptor": {
			fstest.MapFS{"x/component-descriptor.yaml": {Data: []byte("a: b")}},
			[]string{"x/component-descriptor.yaml: component descriptor: it needs meta.schemaVersion"},
		},
		"one component twice": {
			fstest.MapFS{"a/component-descriptor.yaml": {Data: []byte(text("c"))}, "b/component-descriptor.yaml": {Data: []byte(text("c"))}},
			[]string{"b/component-descriptor.yaml: component c:1.0.0 is described in a/component-descriptor.yaml already"},
		},
		"a file that is large": {
			fstest.MapFS{"component-descriptor.yaml": {Data: []byte(text("c") + strings.Repeat("#", 200))}},
			[]string{"component-descriptor.yaml: the file has", "at most 200"},
		},
		"a link": {fstest.MapFS{"component-descriptor.yaml": {
			Data: []byte("x"),
			Mode: 0o777 | 1<<27,
		}}, []string{"must be a regular file"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := ReadDirectory(c.directory, small)
			wantError(t, err, c.want...)
		})
	}
	_, err := ReadDirectory(missing{}, small)
	wantError(t, err, "read the component descriptors of a directory")
}
