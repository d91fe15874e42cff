// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const nest = `
meta: {schemaVersion: v2}
component:
  name: example.com/nest
  version: 1.0.0
  repositoryContexts: [{type: ociRegistry, baseUrl: nest.example.com}]
  componentReferences:
  - name: egg
    componentName: example.com/egg
    version: 1.0.0
    labels:
    - name: landscaper.gardener.cloud/component-descriptor
      value:
        meta: {schemaVersion: v2}
        component:
          name: example.com/egg
          version: 1.0.0
          componentReferences:
          - name: yolk
            componentName: example.com/yolk
            version: 1.0.0
            labels:
            - name: landscaper.gardener.cloud/component-descriptor
              value:
                apiVersion: ocm.software/v3alpha1
                kind: ComponentVersion
                metadata: {name: example.com/yolk, version: 1.0.0}
                spec: {references: [{name: twig, componentName: example.com/twig, version: 1.0.0}]}
  - {name: yolk, componentName: example.com/yolk, version: 1.0.0}
`

func TestInlineDescriptorsNest(t *testing.T) {
	twig := named(t, "example.com/twig")
	set, err := collect(ClosureOptions{Inline: describe(t, nest), Root: at(t, "context.example.com", "", "")}, twig)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := names(set), []string{"example.com/nest", "example.com/egg", "example.com/yolk", "example.com/twig"}; !slices.Equal(
		got,
		want,
	) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, d := range set.All() {
		if set.IsInline(d) == (d == twig) {
			t.Errorf("%s: inline is %v", d.ID(), set.IsInline(d))
		}
	}
	if got := set.Origin(twig); got != at(t, "nest.example.com", "example.com/twig", "1.0.0") {
		t.Errorf("what is not inline is looked up in %v", got)
	}
}

// An inline component takes precedence over any repository that a reference names.
func TestInlineDescriptorsTakePrecedence(t *testing.T) {
	overwrites := overwritesOf(t, rule(Coordinates{}, at(t, "mirror.example.com", "", "")))
	set, err := collect(ClosureOptions{
		Inline:     describe(t, nest),
		Overwrites: overwrites,
	}, named(t, "example.com/twig"), named(t, "example.com/egg"))
	if err != nil {
		t.Fatal(err)
	}
	egg, err := set.Lookup(ID{"example.com/egg", "1.0.0"})
	if err != nil || len(egg.References) != 1 {
		t.Errorf("got %+v, %v", egg, err)
	}
}

// A component that is overwritten by another one is not taken from the inline descriptors.
func TestInlineDescriptorsAreOverwritten(t *testing.T) {
	overwrites := overwritesOf(t, rule(Coordinates{Name: "example.com/egg"}, Coordinates{Name: "example.com/golden-egg"}))
	set, err := collect(ClosureOptions{
		Inline:     describe(t, nest),
		Overwrites: overwrites,
	}, named(t, "example.com/twig"), named(t, "example.com/golden-egg"))
	if err != nil {
		t.Fatal(err)
	}
	egg, _, err := set.Referenced(set.Root(), Named("egg"))
	if err != nil || egg.Name != "example.com/golden-egg" || set.IsInline(egg) {
		t.Errorf("got %v, %v", egg, err)
	}
}

func TestInlineDescriptorAsText(t *testing.T) {
	inner := `{"meta": {"schemaVersion": "v2"}, "component": {"name": "b", "version": "1.0.0"}}`
	set, err := collect(ClosureOptions{Inline: describe(t, labelled("b", strconv.Quote(inner)))})
	if err != nil || len(set.All()) != 2 {
		t.Errorf("got %v, %v", set, err)
	}
}

// labelled writes a component a with a reference to b whose label has the given value.
func labelled(target, value string) string {
	return fmt.Sprintf(`
meta: {schemaVersion: v2}
component:
  name: a
  version: 1.0.0
  componentReferences:
  - {name: first, componentName: %s, version: 1.0.0, labels: [{name: %s, value: %s}]}
  - {name: second, componentName: %s, version: 1.0.0}
`, target, InlineLabel, value, target)
}

func TestInlineDescriptorsRefuse(t *testing.T) {
	b := "{meta: {schemaVersion: v2}, component: {name: b, version: 1.0.0, provider: %s}}"
	cases := map[string]struct {
		text string
		want []string
	}{
		"a label that is no descriptor": {
			labelled("b", "{a: 1}"),
			[]string{"component a:1.0.0, reference first, label " + InlineLabel, "meta.schemaVersion"},
		},
		"a label that is null": {labelled("b", "null"), []string{"must be an object, is null"}},
		"a descriptor of another component": {labelled("c", fmt.Sprintf(b, "x")),
			[]string{"component a:1.0.0, reference first: it refers to c:1.0.0", "describes b:1.0.0"}},
		"two descriptors of one component": {
			strings.Replace(labelled("b", fmt.Sprintf(b, "x")), "- {name: second, componentName: b, version: 1.0.0}",
				"- {name: second, componentName: b, version: 1.0.0, labels: [{name: "+InlineLabel+", value: "+fmt.Sprintf(b, "y")+"}]}", 1),
			[]string{"component b:1.0.0 is given inline twice, with different descriptors"},
		},
		"a circle": {
			labelled(
				"b",
				"{meta: {schemaVersion: v2}, component: {name: b, version: 1.0.0, componentReferences: [{name: back, componentName: a, version: 1.0.0}]}}",
			),
			[]string{"cycle: a:1.0.0 -> first (b:1.0.0) -> back (a:1.0.0)"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := collect(ClosureOptions{Inline: describe(t, c.text)})
			wantError(t, err, c.want...)
		})
	}
}

// A nested installation that takes its blueprint from an inline component needs the descriptor, including everything nested in it.
func TestInlineDescriptorsCanBePassedOn(t *testing.T) {
	set, err := collect(ClosureOptions{Inline: describe(t, nest)}, named(t, "example.com/twig"))
	if err != nil {
		t.Fatal(err)
	}
	uri, err := ParseURI("cd://componentReferences/egg")
	if err != nil {
		t.Fatal(err)
	}
	egg, err := set.Resolve(set.Root(), uri.Reference())
	if err != nil || !egg.Inline || egg.Reference != at(t, "nest.example.com", "example.com/egg", "1.0.0") {
		t.Fatalf("got %+v, %v", egg, err)
	}
	text, err := egg.Component.JSON(egg.Component.Schema)
	if err != nil {
		t.Fatal(err)
	}
	again, err := collect(ClosureOptions{Inline: describe(t, string(text))}, named(t, "example.com/twig"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := names(again), []string{"example.com/egg", "example.com/yolk", "example.com/twig"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
