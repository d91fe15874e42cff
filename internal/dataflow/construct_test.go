// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
)

// given returns data and targets under the names that the tests use.
func given(t testing.TB) dataflow.Resolved {
	t.Helper()
	return resolve(t, root, `
data:
- {name: text, dataRef: text}
- {name: number, dataRef: number}
- {name: object, dataRef: object}
- {name: nothing, dataRef: nothing}
targets:
- {name: one, target: eu}
- {name: list, targets: [eu, us]}
- {name: empty, targets: []}
- {name: map, targetMap: {e: eu, u: us}}
`, dataflow.Facts{
		DataObjects: []*lsv1alpha1.DataObject{
			dataObject(t, "text", `hello`), dataObject(t, "number", `3`), dataObject(t, "object", `{a: {b: 1}}`), dataObject(t, "nothing", `null`),
		},
		Targets: []*lsv1alpha1.Target{cluster(t, "eu"), cluster(t, "us")},
	})
}

func construct(t testing.TB, blueprint, mappings string) (*dataflow.Imports, error) {
	t.Helper()
	return dataflow.Construct(dataflow.ImportInput{
		Definitions: definitions(t, blueprint), Resolved: given(t), Mappings: mapping(t, mappings), Map: paths, Validate: types,
	})
}

func TestValuesOfDataImports(t *testing.T) {
	for name, c := range map[string]struct{ blueprint, mappings, want string }{
		"as imported":                          {`[{name: text, type: data, schema: {type: string}}]`, ``, `{text: hello}`},
		"the type is inferred":                 {`[{name: text, schema: {type: string}}]`, ``, `{text: hello}`},
		"without a schema anything goes":       {`[{name: object, type: data}]`, ``, `{object: {a: {b: 1}}}`},
		"null is a value":                      {`[{name: nothing, schema: {type: "null"}}]`, ``, `{nothing: null}`},
		"mapped":                               {`[{name: url, schema: {type: string}}]`, `{url: (( text ))}`, `{url: hello}`},
		"mapped under the name of its source":  {`[{name: text, schema: {type: object}}]`, `{text: {wrapped: (( text ))}}`, `{text: {wrapped: hello}}`},
		"a mapping wins over the import":       {`[{name: text}, {name: number, type: data}]`, `{text: fixed}`, ``},
		"a mapping does not see other results": {`[{name: text, type: data}, {name: number, type: data}]`, `{text: (( number )), number: (( text ))}`, `{text: 3, number: hello}`},
		"deep inside":                          {`[{name: x, type: data}]`, `{x: [(( object.a.b )), 7, true, null]}`, `{x: [1, 7, true, null]}`},
		"a mapping sees targets":               {`[{name: x, type: data}]`, `{x: (( one.metadata.name ))}`, `{x: eu}`},
		"a mapping sees target maps":           {`[{name: x, type: data}]`, `{x: (( map.u.spec.type ))}`, `{x: landscaper.gardener.cloud/kubernetes-cluster}`},
		"a constant":                           {`[{name: x, schema: {type: integer}}]`, `{x: 7}`, `{x: 7}`},
		"the default":                          {`[{name: x, required: false, default: {value: {a: 1}}, schema: {type: object}}]`, ``, `{x: {a: 1}}`},
		"no default, no value":                 {`[{name: x, required: false, schema: {type: object}}]`, ``, `{}`},
		"a default of null is none":            {`[{name: x, required: false, default: {value: null}, schema: {type: object}}]`, ``, `{}`},
		"an import wins over the default":      {`[{name: text, required: false, default: {value: other}, schema: {type: string}}]`, ``, `{text: hello}`},
		"a mapping wins over the default":      {`[{name: x, required: false, default: {value: other}, schema: {type: string}}]`, `{x: (( text ))}`, `{x: hello}`},
		"what the blueprint does not want":     {`[]`, ``, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			imports, err := construct(t, c.blueprint, c.mappings)
			if c.want == "" {
				expectError(
					t,
					err,
					failure.Terminal,
					`blueprint import "text" is neither data nor a target: set its type, its schema or its targetType`,
				)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			expectYAML(t, "values", imports.Values, c.want)
		})
	}
}

func TestConditionalImports(t *testing.T) {
	blueprint := `
- name: %condition
  required: false
  schema: {type: string}
  imports:
  - {name: number, schema: {type: integer}}
  - name: inner
    required: false
    schema: {type: string}
    imports:
    - {name: innermost, schema: {type: string}}
`
	for name, c := range map[string]struct{ condition, mappings, want, fault string }{
		"the condition does not hold":      {"absent", `{}`, `{}`, ""},
		"it holds":                         {"text", `{}`, `{text: hello, number: 3}`, ""},
		"it holds by a mapping":            {"absent", `{absent: x}`, `{absent: x, number: 3}`, ""},
		"the inner one holds as well":      {"text", `{inner: q, innermost: z}`, `{text: hello, number: 3, inner: q, innermost: z}`, ""},
		"something is missing then":        {"text", `{inner: q}`, "", `the blueprint needs import "innermost" of type data: add it to spec.imports.data, or to spec.importDataMappings`},
		"what depends on nothing is not":   {"absent", `{inner: q}`, `{}`, ""},
		"the conditional one is not valid": {"text", `{number: x}`, "", `the value of import "number": expected integer, found string`},
	} {
		t.Run(name, func(t *testing.T) {
			imports, err := construct(t, strings.ReplaceAll(blueprint, "%condition", c.condition), c.mappings)
			if c.fault != "" {
				expectError(t, err, failure.Terminal, c.fault)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			expectYAML(t, "values", imports.Values, c.want)
			if imports.Satisfied("number") != strings.Contains(c.want, "number") {
				t.Errorf("number is satisfied: %t", imports.Satisfied("number"))
			}
		})
	}
}

func TestADefaultSatisfiesACondition(t *testing.T) {
	_, err := construct(
		t,
		`[{name: a, required: false, default: {value: x}, schema: {type: string}, imports: [{name: b, schema: {type: string}}]}]`,
		``,
	)
	expectError(t, err, failure.Terminal, `the blueprint needs import "b" of type data`)
}

const clusterType = `landscaper.gardener.cloud/kubernetes-cluster`

func TestValuesOfTargetImports(t *testing.T) {
	blueprint := `
- {name: one, targetType: kubernetes-cluster}
- {name: list, type: targetList, targetType: kubernetes-cluster}
- {name: map, type: targetMap, targetType: kubernetes-cluster}
- {name: empty, type: targetList, targetType: ` + clusterType + `}
- {name: absent, type: target, targetType: kubernetes-cluster, required: false}
- {name: absent-map, type: targetMap, targetType: kubernetes-cluster, required: false}
`
	imports, err := construct(t, blueprint, ``)
	if err != nil {
		t.Fatal(err)
	}
	object := func(name string) string {
		return `{apiVersion: landscaper.gardener.cloud/v1alpha1, kind: Target, metadata: {name: ` + name + `, namespace: garden}, spec: {type: ` + clusterType + `, config: {kubeconfig: of ` + name + `}}}`
	}
	expectYAML(
		t,
		"values",
		imports.Values,
		`{one: `+object("eu")+`, list: [`+object("eu")+`, `+object("us")+`], map: {e: `+object("eu")+`, u: `+object("us")+`}, empty: []}`,
	)
}

func TestAnyTypeOfTargetIsAcceptedIfTheBlueprintNamesNone(t *testing.T) {
	if _, err := construct(t, `[{name: one, type: target}]`, ``); err != nil {
		t.Error(err)
	}
}

func TestImportsThatTheBlueprintRejects(t *testing.T) {
	for name, c := range map[string]struct{ blueprint, mappings, want string }{
		"missing data":                     {`[{name: x, schema: {}}]`, ``, `the blueprint needs import "x" of type data: add it to spec.imports.data, or to spec.importDataMappings`},
		"missing target":                   {`[{name: x, targetType: t}]`, ``, `the blueprint needs import "x" of type target: add it to spec.imports.targets`},
		"missing list":                     {`[{name: x, type: targetList, targetType: t}]`, ``, `the blueprint needs import "x" of type targetList: add it to spec.imports.targets`},
		"missing map":                      {`[{name: x, type: targetMap, targetType: t}]`, ``, `the blueprint needs import "x" of type targetMap: add it to spec.imports.targets`},
		"all that is missing":              {`[{name: x, schema: {type: string}}, {name: z, targetType: t}]`, ``, `import "z" of type target`},
		"data for a target":                {`[{name: text, targetType: t}]`, ``, `import "text" is of type data, but the blueprint wants target: change spec.imports`},
		"a target for data":                {`[{name: one, schema: {type: string}}]`, ``, `import "one" is of type target, but the blueprint wants data: change spec.imports`},
		"a list for a target":              {`[{name: list, targetType: t}]`, ``, `import "list" is of type targetList, but the blueprint wants target: change spec.imports`},
		"a list for a map":                 {`[{name: list, type: targetMap, targetType: t}]`, ``, `import "list" is of type targetList, but the blueprint wants targetMap: change spec.imports`},
		"a mapping does not make a target": {`[{name: x, targetType: t}]`, `{x: {spec: {type: t}}}`, `the blueprint needs import "x" of type target`},
		"a type mismatch":                  {`[{name: one, targetType: vm}]`, ``, `import "one": Target eu is of type "landscaper.gardener.cloud/kubernetes-cluster", but the blueprint wants "landscaper.gardener.cloud/vm"`},
		"in a list":                        {`[{name: list, type: targetList, targetType: a/b}]`, ``, `import "list"[1]: Target us is of type "landscaper.gardener.cloud/kubernetes-cluster", but the blueprint wants "a/b"`},
		"in a map":                         {`[{name: map, type: targetMap, targetType: vm}]`, ``, `import "map"[u]: Target us is of type`},
		"a schema":                         {`[{name: text, schema: {type: integer}}]`, ``, `the value of import "text": expected integer, found string`},
		"the schema of a default":          {`[{name: x, required: false, default: {value: 1}, schema: {type: string}}]`, ``, `the value of import "x": expected string, found integer`},
		"an unknown type":                  {`[{name: text, type: secret}]`, ``, `blueprint import "text" is neither data nor a target`},
		"a mapping that fails":             {`[{name: x, type: data}]`, `{x: (( nobody.there ))}`, `data mapping "x": "nobody.there ))" not found`},
	} {
		t.Run(name, func(t *testing.T) {
			imports, err := construct(t, c.blueprint, c.mappings)
			expectError(t, err, failure.Terminal, c.want)
			if imports != nil {
				t.Error("there are imports in spite of the error: they could be written")
			}
		})
	}
}

func TestASchemaThatCannotBeHadIsRetried(t *testing.T) {
	_, err := construct(t, `[{name: text, schema: {type: unavailable}}]`, ``)
	if err == nil || failure.KindOf(err) != failure.Retryable {
		t.Errorf("error = %v, %v", err, failure.KindOf(err))
	}
}

func TestMappingsWithoutEffectAreWarnedAbout(t *testing.T) {
	imports, err := construct(t, `[{name: text, schema: {type: string}}, {name: one, type: target}]`, `{text: a, one: b, other: c}`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`importDataMappings: "one" has no effect: the blueprint has no data import of that name that is in use`,
		`importDataMappings: "other" has no effect: the blueprint has no data import of that name that is in use`,
	}
	ofMappings := func(warning string) bool { return strings.HasPrefix(warning, "importDataMappings: ") }
	if got := slices.DeleteFunc(imports.Warnings, func(warning string) bool { return !ofMappings(warning) }); !slices.Equal(got, want) {
		t.Errorf("warnings = %q", got)
	}
}

// Declared imports are no mistake, even if they are not in use, nor are those that a mapping mentions.
func TestImportsWithoutEffectAreWarnedAbout(t *testing.T) {
	blueprint := `
- {name: text, type: data}
- {name: missing, type: data, required: false, imports: [{name: object, type: data}]}
- {name: one, type: target}
- {name: list, type: targetList}
- {name: x, type: data}
`
	for name, c := range map[string]struct {
		mappings string
		want     []string
	}{
		"some": {`{x: (( number ))}`, []string{
			`spec.imports: "empty" has no effect: the blueprint has no import of that name, and importDataMappings do not use it`,
			`spec.imports: "map" has no effect: the blueprint has no import of that name, and importDataMappings do not use it`,
			`spec.imports: "nothing" has no effect: the blueprint has no import of that name, and importDataMappings do not use it`,
		}},
		"none, as a mapping may use all": {`{x: [(( number )), "(( __ctx.PATH ))"]}`, nil},
	} {
		anything := func(lsv1alpha1.AnyJSON, map[string]any) (any, error) { return "mapped", nil }
		imports, err := dataflow.Construct(dataflow.ImportInput{
			Definitions: definitions(t, blueprint), Resolved: given(t), Mappings: mapping(t, c.mappings), Map: anything, Validate: types,
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Equal(imports.Warnings, c.want) {
			t.Errorf("%s: warnings = %q, want %q", name, imports.Warnings, c.want)
		}
	}
}

func TestAMapperMayReturnAnyTypes(t *testing.T) {
	odd := func(lsv1alpha1.AnyJSON, map[string]any) (any, error) {
		return map[string]any{"n": int32(3), "list": []string{"a"}, "f": float32(0.5)}, nil
	}
	imports, err := dataflow.Construct(dataflow.ImportInput{
		Definitions: definitions(t, `[{name: x, type: data}]`), Mappings: mapping(t, `{x: 1}`), Map: odd, Validate: types,
	})
	if err != nil {
		t.Fatal(err)
	}
	value := imports.Values["x"].(map[string]any)
	if value["n"] != int64(3) || value["f"] != 0.5 || value["list"].([]any)[0] != "a" {
		t.Errorf("value = %#v", value)
	}
	unusable := func(lsv1alpha1.AnyJSON, map[string]any) (any, error) { return func() {}, nil }
	_, err = dataflow.Construct(dataflow.ImportInput{Mappings: mapping(t, `{x: 1}`), Map: unusable, Validate: types})
	expectError(t, err, failure.Terminal, `data mapping "x": it has no JSON form`)
	failing := func(lsv1alpha1.AnyJSON, map[string]any) (any, error) { return nil, errors.New("too many steps") }
	_, err = dataflow.Construct(dataflow.ImportInput{Mappings: mapping(t, `{x: 1}`), Map: failing, Validate: types})
	expectError(t, err, failure.Terminal, `data mapping "x": too many steps`)
}

func TestTargetsOfDeployItems(t *testing.T) {
	imports, err := construct(
		t,
		`[{name: one, type: target}, {name: list, type: targetList}, {name: map, type: targetMap}, {name: text, type: data}]`,
		``,
	)
	if err != nil {
		t.Fatal(err)
	}
	number := func(i int) *int { return &i }
	text := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		imported string
		index    *int
		key      *string
		want     string
	}{
		"a single one":              {"one", nil, nil, "eu"},
		"one of a list":             {"list", number(1), nil, "us"},
		"one of a map":              {"map", nil, text("e"), "eu"},
		"an index too many":         {"one", number(0), nil, `import "one" is a single target: omit index and key`},
		"no index":                  {"list", nil, nil, `import "list" is a target list: select a target by index`},
		"a key for a list":          {"list", number(0), text("e"), `import "list" is a target list: select a target by index`},
		"beyond the end":            {"list", number(2), nil, `import "list" has 2 targets, but none at index 2`},
		"before the beginning":      {"list", number(-1), nil, `import "list" has 2 targets, but none at index -1`},
		"no key":                    {"map", nil, nil, `import "map" is a target map: select a target by key`},
		"an unknown key":            {"map", nil, text("x"), `import "map" has no target with key "x"`},
		"data":                      {"text", nil, nil, `import "text" is data, not a target`},
		"an import that is not one": {"other", nil, nil, `there is no target import "other"`},
	} {
		t.Run(name, func(t *testing.T) {
			target, err := imports.TargetOf(c.imported, c.index, c.key)
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				got = target.Name
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
