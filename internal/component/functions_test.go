// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"text/template"
)

// render executes a Go template with the functions and the bindings that templates of blueprints have.
func render(t *testing.T, options FunctionOptions, text string) (string, error) {
	t.Helper()
	functions := template.FuncMap{}
	for name, f := range Functions(options) {
		functions[name] = f
	}
	bindings := map[string]any{
		"cd": options.Set.Root().View(options.Schema), "components": options.Set.View(options.Schema),
		"imports": map[string]any{"image": "registry.example.com:5000/team/image:1.2.3@" + digest},
	}
	parsed, err := template.New("").Funcs(functions).Option("missingkey=error").Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err = parsed.Execute(&out, bindings)
	return out.String(), err
}

func TestFunctionsInTemplates(t *testing.T) {
	v2, v3 := FunctionOptions{Set: fixture(t), Schema: SchemaV2}, FunctionOptions{Set: fixture(t), Schema: SchemaV3}
	cases := map[string]struct {
		options    FunctionOptions
		text, want string
	}{
		"a resource": {
			v2,
			`{{ $r := getResource .cd "name" "gate" }}{{ $r.access.imageReference }}`,
			"images.example.com:5000/gate:1.5.0",
		},
		"in the other schema":  {v3, `{{ (getResource .cd "name" "gate").access.imageReference }}`, "images.example.com:5000/gate:1.5.0"},
		"without a descriptor": {v2, `{{ (getResource "name" "gate").version }}`, "1.5.0"},
		"by the extra identity": {
			v2,
			`{{ (getResource .cd "name" "bench" "seats" "3").access.imageReference }}`,
			"images.example.com/bench:1.0.0-3",
		},
		"by the version":       {v2, `{{ (getResource .cd "version" "1.5.0").name }}`, "gate"},
		"the first of several": {v2, `{{ (getResource .cd "name" "bench").extraIdentity.seats }}`, "2"},
		"several resources": {
			v2,
			`{{ range getResources .cd "class" "furniture" }}{{ .access.imageReference }} {{ end }}`,
			"images.example.com/bench:1.0.0 images.example.com/bench:1.0.0-3 ",
		},
		"a component": {
			v2,
			`{{ $c := getComponent .cd "name" "pond" }}{{ $c.component.name }} {{ (getResource $c "name" "pump").access.imageReference }}`,
			"example.com/pond images.example.com/pump:0.1.0",
		},
		"a component in v3alpha1": {
			v3,
			`{{ $c := getComponent .cd "name" "pond" }}{{ $c.metadata.name }} {{ (getResource $c "name" "pump").access.imageReference }}`,
			"example.com/pond images.example.com/pump:0.1.0",
		},
		"a component of a component":  {v2, `{{ (getComponent (getComponent "name" "pond") "name" "fish").component.version }}`, "4.0.0"},
		"by the name of a component":  {v3, `{{ (getComponent .cd "componentName" "example.com/pond").metadata.version }}`, "2.0.0"},
		"a reference among namesakes": {v2, `{{ (getComponent .cd "name" "hedge" "side" "south").component.name }}`, "example.com/hedge"},
		"all components in v2": {
			v2,
			`{{ range .components.components }}{{ .component.name }} {{ end }}`,
			"example.com/garden example.com/pond example.com/fish example.com/hedge ",
		},
		"all components in v3alpha1": {
			v3,
			`{{ range .components }}{{ .metadata.name }} {{ end }}`,
			"example.com/garden example.com/pond example.com/fish example.com/hedge ",
		},
		"the repository context": {v2, `{{ (getRepositoryContext .cd).baseUrl }}`, "garden.example.com/components"},
		"that of a component": {
			v3,
			`{{ (getRepositoryContext (getComponent .cd "name" "pond")).baseUrl }}`,
			"registry.example.com/base",
		},
		"that of the installation's": {v3, `{{ getRepositoryContext.type }}`, "ociRegistry"},
		"the parts of an image": {
			v2,
			`{{ $i := parseOCIRef .imports.image }}{{ index $i 0 }}@{{ index $i 1 }}`,
			"registry.example.com:5000/team/image@" + digest,
		},
		"the repository of an image": {
			v2,
			`{{ ociRefRepo (getResource .cd "name" "gate").access.imageReference }}`,
			"images.example.com:5000/gate",
		},
		"the version of an image": {v2, `{{ ociRefVersion (getResource .cd "name" "gate").access.imageReference }}`, "1.5.0"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := render(t, c.options, c.text)
			if err != nil || got != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestFunctionsRefuse(t *testing.T) {
	options := FunctionOptions{Set: fixture(t), Schema: SchemaV2}
	cd := options.Set.Root().View(SchemaV2)
	cases := map[string]struct {
		function  string
		arguments []any
		want      []string
	}{
		"no such resource": {
			"getResource",
			[]any{cd, "name", "fence"},
			[]string{
				"component example.com/garden:1.0.0: there is no resource with name=fence",
				"it has the resources blueprint; gate; bench,class=furniture,seats=2; bench,class=furniture,seats=3",
			},
		},
		"no such resources":       {"getResources", []any{cd, "class", "tree"}, []string{"no resource with class=tree"}},
		"an attribute of nothing": {"getResource", []any{cd, "os", ""}, []string{"no resource with os"}},
		"no selector":             {"getResource", []any{cd}, []string{`pairs of a key and a value, such as "name" "x", got 0`}},
		"nothing at all":          {"getResource", nil, []string{"got 0 arguments"}},
		"half a pair":             {"getResource", []any{cd, "name"}, []string{"got 1 arguments"}},
		"a number as value":       {"getResource", []any{cd, "name", int64(5)}, []string{"must be texts, got a text and a number"}},
		"no descriptor":           {"getResource", []any{nil, "name", "x"}, []string{"the component descriptor is null"}},
		"another object":          {"getResource", []any{map[string]any{"a": "b"}, "name", "x"}, []string{"not a component descriptor"}},
		"no such reference": {
			"getComponent",
			[]any{cd, "name", "lake"},
			[]string{"no component reference with name=lake", "it has the component references pond; hedge,side=north; hedge,side=south"},
		},
		"a reference to nothing": {
			"getComponent",
			[]any{named(t, "s", "x").View(SchemaV3), "name", "x"},
			[]string{"component s:1.0.0, reference x: there is no component x:1.0.0", "example.com/pond:2.0.0"},
		},
		"too many for a context": {"getRepositoryContext", []any{cd, "x"}, []string{"the only argument is a component descriptor"}},
		"no context": {
			"getRepositoryContext",
			[]any{named(t, "s").View(SchemaV2)},
			[]string{"component s:1.0.0 has no repository context"},
		},
		"no key without reference": {"getResourceKey", nil, []string{"cd://resources/NAME, got 0"}},
		"a key of nothing":         {"getResourceKey", []any{"cd://resources/fence"}, []string{"no resource with name=fence"}},
		"a key of a component":     {"getResourceKey", []any{"cd://componentReferences/pond"}, []string{"it leads to a component"}},
		"a key in a stranger": {
			"getResourceKey",
			[]any{named(t, "s").View(SchemaV2), "cd://resources/x"},
			[]string{"there is no component s:1.0.0"},
		},
		"a key with too much":   {"getResourceKey", []any{cd, "cd://resources/gate", "x"}, []string{"got 3 arguments"}},
		"a number as reference": {"getResourceKey", []any{int64(5)}, []string{"is a number"}},
		"no content here": {
			"getResourceContent",
			[]any{"cd://resources/gate"},
			[]string{"the content of resources is not available here"},
		},
		"content of nothing":     {"getResourceContent", []any{"cd://resources/fence"}, []string{"no resource with name=fence"}},
		"no access":              {"resolve", []any{"x"}, []string{"an access specification must be an object, is a text"}},
		"an access without type": {"resolve", []any{map[string]any{"imageReference": "x"}}, []string{"access.type: is required"}},
		"no content behind it":   {"resolve", []any{map[string]any{"type": "ociRegistry"}}, []string{"not available here"}},
		"two accesses":           {"resolve", []any{1, 2}, []string{"got 2 arguments"}},
		"no image":               {"parseOCIRef", []any{"a b"}, []string{"image reference: "}},
		"an image as a list":     {"ociRefRepo", []any{[]any{}}, []string{"must be a text, is a list"}},
		"two images":             {"ociRefVersion", []any{"a:1", "b:1"}, []string{"got 2 arguments"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Functions(options)[c.function](c.arguments...)
			if err == nil {
				t.Fatalf("got %v, want an error", got)
			}
			wantError(t, err, c.want...)
		})
	}
}

func TestFunctionsWithoutAComponent(t *testing.T) {
	for name, f := range Functions(FunctionOptions{Schema: SchemaV2}) {
		var arguments []any
		if strings.Contains(name, "OCI") || strings.Contains(name, "oci") {
			continue
		}
		switch name {
		case "resolve":
			arguments = []any{map[string]any{"type": "x"}}
		case "getResourceKey", "getResourceContent":
			arguments = []any{"cd://resources/x"}
		default:
			arguments = []any{nil, "name", "x"}
		}
		_, err := f(arguments...)
		wantError(t, err, "the installation names no component: set spec.componentDescriptor")
	}
	if got, err := Functions(FunctionOptions{})["ociRefRepo"]("a/b:1"); err != nil || got != "a/b" {
		t.Errorf("images need no component: got %v, %v", got, err)
	}
}

func TestGetResourceKey(t *testing.T) {
	set := fixture(t)
	pond := set.All()[1].View(SchemaV3)
	cases := map[string]struct {
		arguments []any
		want      ResourceKey
	}{
		"a URI": {[]any{"cd://resources/gate"}, ResourceKey{ID{"example.com/garden", "1.0.0"}, Named("gate")}},
		"through a reference": {
			[]any{"cd://componentReferences/pond/resources/pump"},
			ResourceKey{ID{"example.com/pond", "2.0.0"}, Named("pump")},
		},
		"a document": {[]any{"resource: {name: bench, extraIdentity: {seats: '3'}}"}, ResourceKey{ID{"example.com/garden", "1.0.0"}, Identity{
			"name":  "bench",
			"class": "furniture",
			"seats": "3",
		}}},
		"a document with a path": {
			[]any{`{"resource":{"name":"pump"},"referencePath":[{"name":"pond"}]}`},
			ResourceKey{ID{"example.com/pond", "2.0.0"}, Named("pump")},
		},
		"an object": {
			[]any{map[string]any{"resource": map[string]any{"name": "gate"}}},
			ResourceKey{ID{"example.com/garden", "1.0.0"}, Named("gate")},
		},
		"relative to another one": {[]any{pond, "cd://resources/pump"}, ResourceKey{ID{"example.com/pond", "2.0.0"}, Named("pump")}},
		"a version that is not part": {
			[]any{"resource: {name: gate, version: 1.5.0}"},
			ResourceKey{ID{"example.com/garden", "1.0.0"}, Named("gate")},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Functions(FunctionOptions{Set: set})["getResourceKey"](c.arguments...)
			if err != nil {
				t.Fatal(err)
			}
			if key, err := ParseResourceKey(got.(string)); err != nil || !reflect.DeepEqual(key, c.want) {
				t.Errorf("got %+v, %v, want %+v", key, err, c.want)
			}
		})
	}
}

func TestContentOfResources(t *testing.T) {
	set := fixture(t)
	provide := func(of *Descriptor, access Access) (Content, error) {
		switch access.Kind() {
		case AccessLocalBlob:
			return Content{Data: []byte(of.Name), MediaType: "application/octet-stream"}, nil
		case AccessOCIArtifact:
			return Content{Data: []byte(of.Name + " " + access.text("imageReference")), MediaType: "text/plain"}, nil
		default:
			return Content{}, errors.New("the registry is closed")
		}
	}
	functions := Functions(FunctionOptions{Set: set, Content: provide})
	cases := map[string]struct {
		function string
		argument any
		want     string
	}{
		"text":         {"getResourceContent", "cd://componentReferences/pond/resources/pump", "example.com/pond images.example.com/pump:0.1.0"},
		"binary":       {"getResourceContent", "cd://resources/blueprint", "ZXhhbXBsZS5jb20vZ2FyZGVu"},
		"by an access": {"resolve", map[string]any{"type": "ociRegistry", "imageReference": "x:1"}, "example.com/garden x:1"},
	}
	for name, c := range cases {
		if got, err := functions[c.function](c.argument); err != nil || got != c.want {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, c.want)
		}
	}
	_, err := functions["resolve"](map[string]any{"type": "github"})
	wantError(t, err, "the registry is closed")
}

// References follow the overwrites of the context, even though the descriptor names something else.
func TestGetComponentHeedsOverwrites(t *testing.T) {
	set, err := collect(ClosureOptions{
		Root:       at(t, "", "root", "1.0.0"),
		Overwrites: overwritesOf(t, rule(Coordinates{Name: "leaf"}, Coordinates{Name: "better-leaf", Version: "2.0.0"})),
	}, named(t, "root", "leaf"), version(named(t, "better-leaf"), "2.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := render(t, FunctionOptions{Set: set, Schema: SchemaV2}, `{{ (getComponent .cd "name" "leaf").component.name }}`)
	if err != nil || got != "better-leaf" {
		t.Errorf("got %q, %v", got, err)
	}
}

// Templates may change a result; the next call returns the original again.
func TestResultsBelongToTheCaller(t *testing.T) {
	functions := Functions(FunctionOptions{Set: fixture(t), Schema: SchemaV2})
	calls := map[string][]any{
		"getResource": {"name", "gate"}, "getResources": {"class", "furniture"}, "getComponent": {"name", "pond"}, "getRepositoryContext": nil,
		"parseOCIRef": {"a:1"},
	}
	for name, arguments := range calls {
		first, err := functions[name](arguments...)
		if err != nil {
			t.Fatal(err)
		}
		spoil(first)
		second, err := functions[name](arguments...)
		if err != nil || reflect.DeepEqual(first, second) {
			t.Errorf("%s: got %v again, %v", name, second, err)
		}
	}
}

// A descriptor from elsewhere, for example from an import, is searched unchanged.
func TestFunctionsOverForeignDescriptors(t *testing.T) {
	foreign := describe(
		t,
		`{meta: {schemaVersion: v2}, component: {name: f, version: "1", resources: [{name: x, access: {type: t, answer: 42}}]}}`,
	)
	for _, schema := range []Schema{SchemaV2, SchemaV3} {
		got, err := Functions(FunctionOptions{Set: fixture(t), Schema: SchemaV2})["getResource"](foreign.View(schema), "name", "x")
		if err != nil || got.(map[string]any)["access"].(map[string]any)["answer"] != int64(42) {
			t.Errorf("%s: got %v, %v", schema, got, err)
		}
	}
}

// Executors may call the same functions concurrently. The race detector checks this.
func TestFunctionsAreSafeForConcurrentUse(t *testing.T) {
	functions := Functions(FunctionOptions{Set: fixture(t), Schema: SchemaV2})
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for name, arguments := range map[string][]any{
				"getResource":          {"name", "gate"},
				"getComponent":         {"name", "pond"},
				"getRepositoryContext": nil,
				"getResourceKey":       {"cd://resources/gate"},
			} {
				got, err := functions[name](arguments...)
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				spoil(got)
			}
		})
	}
	running.Wait()
}
