// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseRefusesWithTheField(t *testing.T) {
	v2 := func(component string) string { return "meta: {schemaVersion: v2}\ncomponent: " + component }
	v3 := func(rest string) string {
		return "apiVersion: ocm.software/v3alpha1\nkind: ComponentVersion\nmetadata: {name: c, version: 1.0.0}\n" + rest
	}
	cases := map[string]struct {
		text string
		want []string
	}{
		"no object": {"- a", []string{"must be an object, is a list"}},
		"no schema": {"component: {name: c}", []string{"meta.schemaVersion: v2 or apiVersion: ocm.software/v3alpha1"}},
		"two schemas": {
			v3("meta: {schemaVersion: v2}\ncomponent: {name: c, version: v}"),
			[]string{"both meta.schemaVersion and apiVersion"},
		},
		"meta is no object":      {"meta: v2\ncomponent: {}", []string{"meta: must be an object, is a text"}},
		"no schema version":      {"meta: {}\ncomponent: {name: c, version: v}", []string{"meta.schemaVersion: is required"}},
		"unknown schema version": {"meta: {schemaVersion: v1}", []string{`meta.schemaVersion: "v1" is unknown, must be v2`}},
		"unknown API version": {
			"apiVersion: ocm.software/v4",
			[]string{`apiVersion: "ocm.software/v4" is unknown, must be ocm.software/v3alpha1`},
		},
		"API version is no text": {"apiVersion: 3", []string{"apiVersion: must be a text, is a number (3): put it in quotes"}},
		"unknown kind":           {"apiVersion: ocm.software/v3alpha1\nkind: Pod", []string{`kind: is "Pod", must be ComponentVersion`}},
		"no component":           {"meta: {schemaVersion: v2}", []string{"component: is required"}},
		"component is no object": {v2("[]"), []string{"component: must be an object, is a list"}},
		"no name, no version":    {v2("{provider: x}"), []string{"component.name: is required", "component.version: is required"}},
		"empty name":             {v2("{name: '', version: 1.0.0}"), []string{"component.name: must not be empty"}},
		"a number for a version": {
			v2("{name: c, version: 1.1}"),
			[]string{"component.version: must be a text, is a number (1.1): put it in quotes"},
		},
		"no metadata":        {"apiVersion: ocm.software/v3alpha1", []string{"metadata.name: is required"}},
		"provider is a list": {v2("{name: c, version: v, provider: []}"), []string{"component.provider: must be an object, is a list"}},
		"provider's name":    {v2(`{name: c, version: v, provider: '{"name": 5}'}`), []string{"component.provider.name: must be a text"}},
		"repository context": {
			v2("{name: c, version: v, repositoryContexts: [{baseUrl: x}]}"),
			[]string{"component descriptor of c:v", "component.repositoryContexts[0]: a repository context needs a type"},
		},
		"resources are no list": {v2("{name: c, version: v, resources: {}}"), []string{"component.resources: must be a list, is an object"}},
		"a resource is null": {
			v2("{name: c, version: v, resources: [null]}"),
			[]string{"component.resources[0]: must be an object, is null"},
		},
		"a resource without access": {
			v2("{name: c, version: v, resources: [{name: r}]}"),
			[]string{"component.resources[0].access: is required"},
		},
		"an access without type": {
			v2("{name: c, version: v, resources: [{name: r, access: {imageReference: x}}]}"),
			[]string{"component.resources[0].access.type: is required"},
		},
		"an access that is a text": {
			v3("spec: {sources: [{name: s, access: x}]}"),
			[]string{"spec.sources[0].access: must be an object, is a text"},
		},
		"a resource without name": {
			v3("spec: {resources: [{access: {type: x}}]}"),
			[]string{"component descriptor of c:1.0.0", "spec.resources[0].name: is required"},
		},
		"extra identity": {
			v3("spec: {resources: [{name: r, access: {type: x}, extraIdentity: {a: 1}}]}"),
			[]string{"spec.resources[0].extraIdentity.a: must be a text"},
		},
		"labels": {
			v3("spec: {resources: [{name: r, access: {type: x}, labels: [{value: 1}]}]}"),
			[]string{"spec.resources[0].labels[0].name: is required"},
		},
		"a reference": {
			v3("spec: {references: [{name: r}]}"),
			[]string{"spec.references[0].version: is required", "spec.references[0].componentName: is required"},
		},
		"an empty reference": {
			v2("{name: c, version: v, componentReferences: [{name: r, componentName: x, version: ''}]}"),
			[]string{"component.componentReferences[0].version: is required"},
		},
		"the same resource twice": {v2("{name: c, version: v, resources: [{name: r, access: {type: x}}, {name: r, access: {type: y}}]}"),
			[]string{"component.resources[1]: has the same name, version and extra identity as component.resources[0]: name=r"}},
		"the same reference twice": {
			v3("spec: {references: [{name: r, componentName: x, version: '1'}, {name: r, componentName: y, version: '1'}]}"),
			[]string{"spec.references[1]: has the same name"},
		},
		"the same source twice": {v3("spec: {sources: [{name: s}, {name: s}]}"), []string{"spec.sources[1]: has the same name"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if d, err := Parse([]byte(c.text), DefaultLimits); err == nil {
				t.Fatalf("got %+v, want an error", d)
			} else {
				wantError(t, err, c.want...)
			}
		})
	}
}

func TestParseListsManyProblemsBriefly(t *testing.T) {
	text := "meta: {schemaVersion: v2}\ncomponent: {name: c, version: v, resources: [" + strings.Repeat("{access: {type: x}},", 30) + "]}"
	_, err := Parse([]byte(text), DefaultLimits)
	wantError(t, err, "component.resources[0].name", "more problems")
	if strings.Contains(err.Error(), "resources[11]") {
		t.Errorf("the error is too long: %s", err)
	}
}

func TestParseKeepsToTheLimits(t *testing.T) {
	resources := func(n int) string {
		var text strings.Builder
		text.WriteString("meta: {schemaVersion: v2}\ncomponent: {name: c, version: v, resources: [")
		for i := range n {
			fmt.Fprintf(&text, "{name: r%d, access: {type: x}},", i)
		}
		return text.String() + "]}"
	}
	limits := DefaultLimits
	limits.Elements = 5
	if _, err := Parse([]byte(resources(5)), limits); err != nil {
		t.Error(err)
	}
	_, err := Parse([]byte(resources(6)), limits)
	wantError(t, err, "component.resources: has 6 entries, at most 5 are allowed")
	limits.Bytes = 10
	_, err = Parse([]byte(resources(5)), limits)
	wantError(t, err, "at most 10 are allowed")
}

func TestParseIsForgiving(t *testing.T) {
	cases := map[string]string{
		"null lists":                  "meta: {schemaVersion: v2}\ncomponent: {name: c, version: v, resources: null, sources: null, componentReferences: null, labels: null, repositoryContexts: null}",
		"provider as an object in v2": "meta: {schemaVersion: v2}\ncomponent: {name: c, version: v, provider: {name: p}}",
		"provider as a text in v3":    "apiVersion: ocm.software/v3alpha1\nmetadata: {name: c, version: v, provider: p}",
		"no kind and no spec":         "apiVersion: ocm.software/v3alpha1\nmetadata: {name: c, version: v}",
		"same name, other version":    "meta: {schemaVersion: v2}\ncomponent: {name: c, version: v, resources: [{name: r, version: '1', access: {type: x}}, {name: r, version: '2', access: {type: x}}]}",
	}
	for name, text := range cases {
		if _, err := Parse([]byte(text), DefaultLimits); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestProviderOfSchemaV2(t *testing.T) {
	cases := map[string]struct{ text, name, written string }{
		"a name":            {"acme", "acme", "acme"},
		"an object as JSON": {`'{"name": "acme"}'`, "acme", "acme"},
		"looks like JSON":   {`'{acme'`, "{acme", `{"name":"{acme"}`},
		"JSON with a label": {
			`'{"name": "acme", "labels": [{"name": "a", "value": 1}]}'`,
			"acme",
			`{"labels":[{"name":"a","value":1}],"name":"acme"}`,
		},
		"nothing":            {"''", "", ""},
		"an empty object":    {"'{}'", "", ""},
		"an object directly": {"{name: acme}", "acme", "acme"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := describe(t, "meta: {schemaVersion: v2}\ncomponent: {name: c, version: v, provider: "+c.text+"}")
			if d.Provider.Name != c.name {
				t.Errorf("name %q, want %q", d.Provider.Name, c.name)
			}
			if written := d.View(SchemaV2)["component"].(map[string]any)["provider"]; written != c.written {
				t.Errorf("written as %q, want %q", written, c.written)
			}
		})
	}
}

func TestLocalResourcesShareTheVersionOfTheComponent(t *testing.T) {
	d := describe(t, `
meta: {schemaVersion: v2}
component:
  name: c
  version: 7.0.0
  resources:
  - {name: own, relation: local, access: {type: x}}
  - {name: foreign, relation: external, access: {type: x}}
  - {name: pinned, relation: local, version: 1.0.0, access: {type: x}}
`)
	for i, want := range []string{"7.0.0", "", "1.0.0"} {
		if got := d.Resources[i].Version; got != want {
			t.Errorf("%s has version %q, want %q", d.Resources[i].Name, got, want)
		}
	}
}

func TestIsBlueprint(t *testing.T) {
	for kind, want := range map[string]bool{"landscaper.gardener.cloud/blueprint": true, "blueprint": true, "ociImage": false, "": false} {
		if got := (&Resource{Type: kind}).IsBlueprint(); got != want {
			t.Errorf("%q: %v", kind, got)
		}
	}
}
