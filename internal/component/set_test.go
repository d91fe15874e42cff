// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fixture is a component with two more that it refers to, one of them in the other schema.
func fixture(t testing.TB) *Set {
	t.Helper()
	root := describe(t, `
meta: {schemaVersion: v2}
component:
  name: example.com/garden
  version: 1.0.0
  provider: example.com
  repositoryContexts: [{type: ociRegistry, baseUrl: garden.example.com/components}]
  componentReferences:
  - {name: pond, componentName: example.com/pond, version: 2.0.0}
  - {name: hedge, componentName: example.com/hedge, version: 3.0.0, extraIdentity: {side: north}}
  - {name: hedge, componentName: example.com/hedge, version: 3.0.0, extraIdentity: {side: south}}
  resources:
  - {name: blueprint, type: blueprint, relation: local, access: {type: localBlob, localReference: "sha256:01", mediaType: application/x-tgz}}
  - {name: gate, version: 1.5.0, type: ociImage, relation: external, access: {type: ociArtifact, imageReference: "images.example.com:5000/gate:1.5.0"}}
  - {name: bench, version: 1.0.0, type: ociImage, relation: external, extraIdentity: {class: furniture, seats: "2"}, access: {type: ociArtifact, imageReference: "images.example.com/bench:1.0.0"}}
  - {name: bench, version: 1.0.0, type: ociImage, relation: external, extraIdentity: {class: furniture, seats: "3"}, access: {type: ociArtifact, imageReference: "images.example.com/bench:1.0.0-3"}}
`)
	pond := describe(t, `
apiVersion: ocm.software/v3alpha1
kind: ComponentVersion
metadata: {name: example.com/pond, version: 2.0.0, provider: {name: example.com}}
repositoryContexts: []
spec:
  references: [{name: fish, componentName: example.com/fish, version: 4.0.0}]
  resources:
  - {name: blueprint, version: 2.0.0, type: blueprint, relation: local, access: {type: localBlob, localReference: "sha256:02"}}
  - {name: pump, version: 0.1.0, type: ociImage, relation: external, access: {type: ociArtifact, imageReference: "images.example.com/pump:0.1.0"}}
`)
	hedge := describe(t, `{meta: {schemaVersion: v2}, component: {name: example.com/hedge, version: 3.0.0}}`)
	fish := describe(
		t,
		`{meta: {schemaVersion: v2}, component: {name: example.com/fish, version: 4.0.0, resources: [{name: food, type: t, access: {type: x}}]}}`,
	)
	return setOf(t, root, pond, hedge, fish)
}

func TestLookup(t *testing.T) {
	set := fixture(t)
	if d, err := set.Lookup(ID{"example.com/pond", "2.0.0"}); err != nil || d.Name != "example.com/pond" {
		t.Errorf("got %v, %v", d, err)
	}
	_, err := set.Lookup(ID{"example.com/pond", "9"})
	wantError(
		t,
		err,
		"there is no component example.com/pond:9",
		"there are example.com/garden:1.0.0; example.com/pond:2.0.0; example.com/fish:4.0.0; example.com/hedge:3.0.0",
	)
}

func TestReferenced(t *testing.T) {
	set := fixture(t)
	d, written, err := set.Referenced(set.Root(), Identity{"name": "hedge", "side": "south"})
	if err != nil || d.Name != "example.com/hedge" || written != at(t, "registry.example.com/base", "example.com/hedge", "3.0.0") {
		t.Errorf("got %v, %v, %v", d, written, err)
	}
	_, _, err = set.Referenced(set.Root(), Named("hedge"))
	wantError(t, err, "2 component references match name=hedge", "side=north", "side=south")
	_, _, err = set.Referenced(named(t, "stranger", "example.com/cloud"), Named("example.com/cloud"))
	wantError(t, err, "component stranger:1.0.0, reference example.com/cloud: there is no component example.com/cloud:1.0.0")
}

// A reference has a target even if no selector can select it: one identity may be part of another.
func TestTarget(t *testing.T) {
	root := describe(t, `
meta: {schemaVersion: v2}
component:
  name: a
  version: 1.0.0
  componentReferences:
  - {name: x, componentName: b, version: 1.0.0}
  - {name: x, componentName: c, version: 1.0.0, extraIdentity: {side: north}}
`)
	set := setOf(t, root, named(t, "b"), named(t, "c"))
	for i, want := range []string{"b", "c"} {
		if d, err := set.Target(root, &root.References[i]); err != nil || d.Name != want {
			t.Errorf("reference %d: got %v, %v", i, d, err)
		}
	}
	if _, err := set.Target(root, &Reference{ComponentName: "d"}); err == nil {
		t.Error("a reference of somebody else leads somewhere")
	}
}

// A descriptor outside the set can still refer to its components, for example one that was imported.
func TestReferencedByAStranger(t *testing.T) {
	set := fixture(t)
	d, _, err := set.Referenced(named(t, "stranger", "example.com/pond:2.0.0"), Named("example.com/pond"))
	if err != nil || d.Name != "example.com/pond" {
		t.Errorf("got %v, %v", d, err)
	}
	if set.Origin(named(t, "stranger")) != at(t, "", "stranger", "1.0.0") || set.IsInline(named(t, "stranger")) {
		t.Error("a stranger has no origin")
	}
}

func TestRepositoryContextOf(t *testing.T) {
	set := fixture(t)
	if got := set.RepositoryContextOf(set.Root()); got != registryAt(t, "garden.example.com/components") {
		t.Errorf("got %v", got)
	}
	pond, _, err := set.Referenced(set.Root(), Named("pond"))
	if err != nil {
		t.Fatal(err)
	}
	if got := set.RepositoryContextOf(pond); got != registryAt(t, "registry.example.com/base") {
		t.Errorf("got %v", got)
	}
}

func TestResolveURI(t *testing.T) {
	set := fixture(t)
	type found struct {
		Component, Resource string
		Reference           Coordinates
		Inline              bool
	}
	cases := map[string]found{
		"cd://resources/gate": {
			Component: "example.com/garden",
			Resource:  "gate",
			Reference: at(t, "registry.example.com/base", "example.com/garden", "1.0.0"),
		},
		"cd://componentReferences/pond/resources/blueprint": {
			Component: "example.com/pond",
			Resource:  "blueprint",
			Reference: at(t, "registry.example.com/base", "example.com/pond", "2.0.0"),
		},
		"cd://componentReferences/pond/componentReferences/fish/resources/food#/x/y": {
			Component: "example.com/fish",
			Resource:  "food",
			Reference: at(t, "registry.example.com/base", "example.com/fish", "4.0.0"),
		},
	}
	for uri, want := range cases {
		t.Run(uri, func(t *testing.T) {
			resolved, err := set.ResolveURI(set.Root(), uri)
			if err != nil {
				t.Fatal(err)
			}
			got := found{resolved.Component.Name, resolved.Resource.Name, resolved.Reference, resolved.Inline}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(RepositoryContext{})); diff != "" {
				t.Errorf("what is found (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResolveURIRefuses(t *testing.T) {
	set := fixture(t)
	for uri, want := range map[string][]string{
		"cd://resources/fence":                           {`reference "cd://resources/fence"`, "no resource with name=fence", "it has the resources blueprint; gate; bench,class=furniture,seats=2"},
		"cd://resources/bench":                           {"2 resources match name=bench"},
		"cd://componentReferences/lake/resources/x":      {"no component reference with name=lake", "pond"},
		"cd://componentReferences/pond/resources/x":      {"component example.com/pond:2.0.0", "it has the resources blueprint; pump"},
		"cd://componentReferences/hedge/resources/x":     {"2 component references match"},
		"cd://componentReferences/pond":                  {"it leads to a component, but must lead to a resource"},
		"http://example.com":                             {"must begin with cd://"},
		"cd://componentReferences/pond/components/x/y/z": {`"components" is unknown, must be componentReferences or resources`},
	} {
		_, err := set.ResolveURI(set.Root(), uri)
		wantError(t, err, want...)
	}
}

func TestResolveEndsAtAComponent(t *testing.T) {
	set := fixture(t)
	uri, err := ParseURI("cd://componentReferences/pond/componentReferences/fish")
	if err != nil {
		t.Fatal(err)
	}
	got, err := set.Resolve(set.Root(), uri.Reference())
	if err != nil || got.Component.Name != "example.com/fish" || got.Resource != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestSetAsTemplatesSeeIt(t *testing.T) {
	set := fixture(t)
	v2, ok := set.View(SchemaV2).(map[string]any)
	if !ok {
		t.Fatal("in schema v2 it must be an object")
	}
	list := v2["components"].([]any)
	if len(list) != 4 || !reflect.DeepEqual(v2["meta"], map[string]any{"schemaVersion": "v2"}) {
		t.Errorf("got %v", v2)
	}
	if second := list[1].(map[string]any)["component"].(map[string]any); second["name"] != "example.com/pond" {
		t.Errorf("the second is %v", second["name"])
	}
	v3, ok := set.View(SchemaV3).([]any)
	if !ok || len(v3) != 4 {
		t.Fatal("in schema v3alpha1 it must be a list")
	}
	if first := v3[0].(map[string]any)["metadata"].(map[string]any); first["name"] != "example.com/garden" {
		t.Errorf("the first is %v", first["name"])
	}
}
