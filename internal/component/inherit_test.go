// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// orchardInline is given inline with descriptors of tree and seed. The tree refers to seed without describing it, and to
// twig, which only a repository knows; so does hedge, which only a repository knows as well.
const orchardInline = `
meta: {schemaVersion: v2}
component:
  name: garden
  version: 1.0.0
  repositoryContexts: [{type: ociRegistry, baseUrl: garden.example.com}]
  componentReferences:
  - {name: seed, componentName: seed, version: 1.0.0, labels: [{name: landscaper.gardener.cloud/component-descriptor, value: {meta: {schemaVersion: v2}, component: {name: seed, version: 1.0.0, provider: inline}}}]}
  - name: tree
    componentName: tree
    version: 1.0.0
    labels:
    - {name: colour, value: green}
    - name: landscaper.gardener.cloud/component-descriptor
      value:
        meta: {schemaVersion: v2}
        component:
          name: tree
          version: 1.0.0
          repositoryContexts: [%s]
          componentReferences:
          - {name: twig, componentName: twig, version: 1.0.0}
          - {name: seed, componentName: seed, version: 1.0.0}
          - {name: again, componentName: seed, version: 1.0.0}
  - {name: hedge, componentName: hedge, version: 1.0.0}
  - {name: stone, componentName: stone, version: 1.0.0}
  - {name: arch, componentName: arch, version: 1.0.0}
`

// inRepository returns the components that repositories have.
func inRepository(t testing.TB) []*Descriptor {
	return []*Descriptor{
		named(t, "twig"),
		named(t, "hedge", "twig", "seed"),
		named(t, "stone"),
		named(t, "arch", "hedge"),
		named(t, "seed"),
		named(t, "big-seed"),
	}
}

// inherit follows a reference of the orchard, and collects the component again as a nested installation does that inherits it, whose
// Context names another repository.
func inherit(t testing.TB, text, reference string, overwrites *Overwrites) (parent, child *Set, definition string) {
	t.Helper()
	options := ClosureOptions{Inline: describe(t, text), Root: at(t, "context.example.com", "", ""), Overwrites: overwrites}
	parent, err := collect(options, inRepository(t)...)
	if err != nil {
		t.Fatal(err)
	}
	found, err := parent.Resolve(parent.Root(), ResourceReference{Path: []Identity{Named(reference)}})
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := parent.Inherit(found)
	if err != nil {
		t.Fatal(err)
	}
	if inherited.Reference != nil {
		options.Inline = nil
		if options.Root, err = CoordinatesOf(*inherited.Reference, options.Root.RepositoryContext); err != nil {
			t.Fatal(err)
		}
	} else {
		options.Inline, definition = describe(t, string(inherited.Inline.Raw)), string(inherited.Inline.Raw)
	}
	if child, err = collect(options, inRepository(t)...); err != nil {
		t.Fatal(err)
	}
	return parent, child, definition
}

// A nested installation finds the same components as its parent, in the same repositories.
func TestANestedInstallationInheritsWhatTheParentHas(t *testing.T) {
	for name, c := range map[string]struct {
		contexts, reference string
		inline              bool
		want                []string
	}{
		"a component without a repository":                {"", "tree", true, []string{"tree", "twig", "seed"}},
		"one of the same repository":                      {"{type: ociRegistry, baseUrl: garden.example.com}", "tree", true, []string{"tree", "twig", "seed"}},
		"one of another repository":                       {"{type: ociRegistry, baseUrl: forest.example.com}", "tree", true, []string{"tree", "twig", "seed"}},
		"one of a repository that leads to an inline one": {"", "hedge", true, []string{"hedge", "twig", "seed"}},
		"one that leads to it by way of another":          {"", "arch", true, []string{"arch", "hedge", "twig", "seed"}},
		"one of a repository":                             {"", "stone", false, []string{"stone"}},
	} {
		t.Run(name, func(t *testing.T) {
			parent, child, inline := inherit(t, fmt.Sprintf(orchardInline, c.contexts), c.reference, nil)
			if got := names(child); !slices.Equal(got, c.want) || (inline != "") != c.inline {
				t.Errorf("got %q, inline %s", got, inline)
			}
			for _, d := range child.All() {
				before, err := parent.Lookup(d.ID())
				if err != nil || before.Provider.Name != d.Provider.Name || parent.RepositoryContextOf(before) != child.RepositoryContextOf(d) {
					t.Errorf(
						"%s: provider %q of %v, error %v; the parent has %q of %v",
						d.ID(),
						d.Provider.Name,
						child.RepositoryContextOf(d),
						err,
						before.Provider.Name,
						parent.RepositoryContextOf(before),
					)
				}
			}
			if strings.Count(inline, `"provider":"inline"`) > 1 {
				t.Errorf("seed is there more than once: %s", inline)
			}
		})
	}
}

// Other labels stay.
func TestInheritKeepsOtherLabels(t *testing.T) {
	text := strings.Replace(
		fmt.Sprintf(orchardInline, ""),
		"{name: twig, componentName: twig, version: 1.0.0}",
		"{name: twig, componentName: twig, version: 1.0.0, labels: [{name: kind, value: soft}]}",
		1,
	)
	_, child, _ := inherit(t, text, "tree", nil)
	if kind, _ := child.Root().References[0].Label("kind"); kind != "soft" {
		t.Errorf("got %v", kind)
	}
}

// The nested installation applies the overwrites of its parent, because it has the same Context.
func TestInheritLeavesOverwritesToTheContext(t *testing.T) {
	overwrites := overwritesOf(t, rule(Coordinates{Name: "seed"}, Coordinates{Name: "big-seed"}))
	_, child, _ := inherit(t, fmt.Sprintf(orchardInline, ""), "tree", overwrites)
	if got, want := names(child), []string{"tree", "twig", "big-seed"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	// The reference to twig leads to seed now, and cannot hold its descriptor; the reference to seed can.
	overwrites = overwritesOf(t, rule(Coordinates{Name: "twig"}, Coordinates{Name: "seed"}))
	_, child, _ = inherit(t, fmt.Sprintf(orchardInline, ""), "tree", overwrites)
	if got, want := names(child), []string{"tree", "seed"}; !slices.Equal(got, want) || child.All()[1].Provider.Name != "inline" {
		t.Errorf("got %q, want %q, seed of %q", got, want, child.All()[1].Provider.Name)
	}
}

// A component that names repositories keeps all of them.
func TestInheritKeepsTheRepositoriesOfAComponent(t *testing.T) {
	way := "{type: ociRegistry, baseUrl: forest.example.com}, {type: ociRegistry, baseUrl: garden.example.com}"
	_, child, _ := inherit(t, fmt.Sprintf(orchardInline, way), "tree", nil)
	if got, want := child.Root().RepositoryContexts, []RepositoryContext{registryAt(t, "forest.example.com"), registryAt(t, "garden.example.com")}; !slices.Equal(
		got,
		want,
	) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A nested installation passes on what it has inherited.
func TestWhatIsInheritedIsInheritedAgain(t *testing.T) {
	_, child, _ := inherit(t, fmt.Sprintf(orchardInline, ""), "hedge", nil)
	found, err := child.Resolve(child.Root(), ResourceReference{Path: []Identity{Named("seed")}})
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := child.Inherit(found)
	if err != nil || inherited.Inline == nil {
		t.Fatalf("got %+v, %v", inherited, err)
	}
	seed := describe(t, string(inherited.Inline.Raw))
	if seed.Provider.Name != "inline" || seed.EffectiveRepositoryContext() != registryAt(t, "garden.example.com") {
		t.Errorf("got %+v", seed)
	}
}
