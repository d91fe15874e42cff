// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/component"
	"espalier.dev/internal/lru"
)

// Requests for the same component get the same closure, and only its root is read again, to detect changes.
func TestClosuresAreReadOnce(t *testing.T) {
	s := newShelf(t)
	c := New(blueprint.NewEngine())
	find := func(spec string, change func(*Request)) *component.Set {
		t.Helper()
		r := Request{Installation: installation(t, inlineBlueprint+spec), Repository: s.repository()}
		if change != nil {
			change(&r)
		}
		in, err := c.Find(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return in.Components
	}
	const inline = "\ncomponentDescriptor: {inline: {meta: {schemaVersion: v2}, component: {name: %s, version: 1.0.0, componentReferences: [{name: b, componentName: base, version: 1.0.0}]}}}"
	closures := map[string]func() *component.Set{
		"by reference": func() *component.Set { return find(refComponent, nil) },
		"another version": func() *component.Set {
			return find("\ncomponentDescriptor: {ref: {componentName: base, version: 2.0.0}}", nil)
		},
		"another component": func() *component.Set {
			return find("\ncomponentDescriptor: {ref: {componentName: base, version: 1.0.0}}", nil)
		},
		"inline":      func() *component.Set { return find(fmt.Sprintf(inline, "mine"), nil) },
		"also inline": func() *component.Set { return find(fmt.Sprintf(inline, "yours"), nil) },
		"elsewhere": func() *component.Set {
			return find(refComponent, func(r *Request) { r.Context = contextOf(t, "repositoryContext: {type: r, baseUrl: away}") })
		},
		"overwritten": func() *component.Set {
			return find(refComponent, func(r *Request) { r.Context, r.Overwrites = contextOf(t, pinned), pins(t, newerBase) })
		},
		"for somebody else": func() *component.Set {
			return find(refComponent, func(r *Request) { r.Repository.Name = "other" })
		},
	}
	known := map[*component.Set]string{}
	first := map[string]*component.Set{}
	for name, find := range closures {
		first[name] = find()
		if other, taken := known[first[name]]; taken {
			t.Errorf("%s and %s share a closure", name, other)
		}
		known[first[name]] = name
	}
	reads := len(s.reads)
	for name, find := range closures {
		if find() != first[name] {
			t.Errorf("%s: another closure", name)
		}
	}
	const roots = 6 // all that are not inline
	if repeated := len(s.reads) - reads; repeated != roots {
		t.Errorf("%d reads were repeated, want %d", repeated, roots)
	}
}

// Objects with the same content have the same effect, whatever their names.
func TestClosuresAreRememberedByContent(t *testing.T) {
	c := New(blueprint.NewEngine())
	s := newShelf(t)
	find := func(namespace string, rules ...string) *component.Set {
		t.Helper()
		r := Request{
			Installation: installation(t, inlineBlueprint+refComponent),
			Context:      contextOf(t, pinned),
			Overwrites:   pins(t, rules...),
			Repository:   s.repository(),
		}
		r.Overwrites.Namespace, r.Context.Namespace, r.Installation.Namespace = namespace, namespace, namespace
		in, err := c.Find(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return in.Components
	}
	if find("one", newerBase) != find("two", newerBase) {
		t.Error("namespaces do not share a closure")
	}
	if find("one") == find("one", newerBase) {
		t.Error("a change of the overwrites has no effect")
	}
}

func TestWhatCouldNotBeReadIsReadAgain(t *testing.T) {
	c := New(blueprint.NewEngine())
	s := newShelf(t)
	s.broken = errors.New("down")
	r := Request{Installation: installation(t, inlineBlueprint+refComponent), Repository: s.repository()}
	if _, err := c.Find(t.Context(), r); err == nil {
		t.Fatal("no error")
	}
	s.broken = nil
	if _, err := c.Find(t.Context(), r); err != nil {
		t.Error(err)
	}
}

// Few closures are cached, however many components there are.
func TestClosuresAreForgotten(t *testing.T) {
	c := New(blueprint.NewEngine())
	c.closures = lru.NewCache[*component.Set](64 << 10)
	for i := range 50 {
		inst := installation(
			t,
			fmt.Sprintf(
				"%s\ncomponentDescriptor: {inline: {meta: {schemaVersion: v2}, component: {name: c%d, version: 1.0.0}}}",
				inlineBlueprint,
				i,
			),
		)
		if _, err := c.Find(t.Context(), Request{Installation: inst}); err != nil {
			t.Fatal(err)
		}
	}
	if c.closures.Len() == 0 || c.closures.Len() > 16 {
		t.Errorf("%d closures are kept", c.closures.Len())
	}
}

func TestManyAskAtOnce(t *testing.T) {
	c := New(blueprint.NewEngine())
	s := newShelf(t)
	specs := make([]*lsv1alpha1.Installation, 16)
	for i := range specs {
		specs[i] = installation(t, refBlueprint+refComponent)
	}
	var running sync.WaitGroup
	for _, inst := range specs {
		running.Go(func() {
			in, err := c.Find(t.Context(), Request{Installation: inst, Repository: s.repository()})
			if err != nil || len(in.Components.All()) != 2 {
				t.Errorf("got %v, %v", in.Components, err)
			}
		})
	}
	running.Wait()
}
