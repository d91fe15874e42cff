// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ktypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
)

// exported is what the tests vary: the blueprint's exports, their values, and how the installation uses them.
type exported struct{ blueprint, values, exports, mappings string }

func (e exported) build(t testing.TB) (*dataflow.Exports, error) {
	t.Helper()
	var values map[string]any
	if err := yaml.Unmarshal([]byte(e.values), &values); err != nil {
		t.Fatal(err)
	}
	return dataflow.BuildExports(dataflow.ExportInput{
		Installation: "garden/app", Blueprint: `blueprint "web"`,
		Definitions: parse[[]lsv1alpha1.ExportDefinition](t, e.blueprint), Values: values,
		Exports: exports(t, e.exports), Mappings: mapping(t, e.mappings), Map: paths, Validate: types,
	})
}

func (e exported) objects(t testing.TB, scope dataflow.Scope, existing dataflow.Existing) (dataflow.Objects, error) {
	t.Helper()
	built, err := e.build(t)
	if err != nil {
		t.Fatalf("build exports: %v", err)
	}
	return built.Objects(scope, app, existing)
}

const (
	textAndNumber = `[{name: text, schema: {type: string}}, {name: number, type: data, schema: {type: integer}}]`
	oneCluster    = `[{name: cluster, targetType: kubernetes-cluster}]`
)

func TestDataExports(t *testing.T) {
	for name, c := range map[string]struct {
		exported
		want string
	}{
		"under the blueprint's name": {exported{textAndNumber, `{text: hello, number: 3}`, `data: [{name: text, dataRef: greeting}]`, ``}, `{greeting: hello}`},
		"one to two objects":         {exported{textAndNumber, `{text: hello, number: 3}`, `data: [{name: text, dataRef: a}, {name: number, dataRef: b}]`, ``}, `{a: hello, b: 3}`},
		"mapped":                     {exported{textAndNumber, `{text: hello, number: 3}`, `data: [{name: both, dataRef: a}]`, `{both: {t: (( text )), n: (( number ))}}`}, `{a: {t: hello, n: 3}}`},
		"all exports under a name":   {exported{textAndNumber, `{text: hello, number: 3}`, `data: [{name: both, dataRef: a}]`, `{both: (( exports.number ))}`}, `{a: 3}`},
		"mapped under its own name":  {exported{textAndNumber, `{text: hello, number: 3}`, `data: [{name: text, dataRef: a}]`, `{text: {value: (( text ))}}`}, `{a: {value: hello}}`},
		"an export called exports":   {exported{`[{name: exports, type: data}]`, `{exports: {a: 1}}`, `data: [{name: x, dataRef: a}]`, `{x: (( exports.exports.a ))}`}, `{a: 1}`},
		"a constant":                 {exported{`[]`, `{}`, `data: [{name: x, dataRef: a}]`, `{x: [1]}`}, `{a: [1]}`},
		"nothing to export":          {exported{textAndNumber, `{text: hello, number: 3}`, `{}`, ``}, `{}`},
		"null":                       {exported{`[{name: x, schema: {type: "null"}}]`, `{x: null}`, `data: [{name: x, dataRef: a}]`, ``}, `{a: null}`},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := c.objects(t, root, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]any{}
			for _, object := range objects.DataObjects {
				got[object.Name] = object.Data
			}
			expectYAML(t, "objects", got, c.want)
		})
	}
}

func TestObjectsOfExports(t *testing.T) {
	const prefix = "data.landscaper.gardener.cloud/"
	for name, c := range map[string]struct {
		scope                 dataflow.Scope
		reference, name, more string
	}{
		"at the root":        {root, "url", "url", `key: url`},
		"in a scope":         {nested, "url", hashed("Inst.tree/url"), `key: url, ` + prefix + `context: Inst.tree`},
		"out of a scope":     {nested, "#url", "url", `key: url`},
		"a name with a hash": {root, "URL", hashed("/URL"), `key: URL`},
	} {
		t.Run(name, func(t *testing.T) {
			e := exported{`[{name: d, type: data}, {name: c, type: target}]`,
				`{d: 1, c: {type: vm, config: {a: 1}, labels: {zone: a, ` + prefix + `key: spoofed}, annotations: {note: x}}}`,
				`{data: [{name: d, dataRef: "` + c.reference + `"}], targets: [{name: c, target: "` + c.reference + `"}]}`, ``}
			objects, err := e.objects(t, c.scope, nil)
			if err != nil {
				t.Fatal(err)
			}
			labels := prefix + `source: Inst.app, ` + prefix + `sourceType: export, ` + prefix + `jobid: job-2, ` + prefix + c.more
			expectYAML(t, "data", objects.DataObjects, `
- apiVersion: landscaper.gardener.cloud/v1alpha1
  kind: DataObject
  metadata:
    name: `+c.name+`
    namespace: garden
    labels: {`+labels+`}
    annotations: {`+prefix+`hash: 356a192b7913b04c54574d18c28d46e6395428ab}
    `+ownedByApp+`
  data: 1`)
			expectYAML(t, "targets", objects.Targets, `
- apiVersion: landscaper.gardener.cloud/v1alpha1
  kind: Target
  metadata:
    name: `+c.name+`
    namespace: garden
    labels: {`+labels+`, zone: a}
    annotations: {`+prefix+`hash: 9f89c740ceb46d7418c924a78ac57941d5e96520, note: x}
    `+ownedByApp+`
  spec: {type: vm, config: {a: 1}}`)
			ids := dataflow.ExportedObjects(c.scope, exports(t, e.exports))
			if want := []dataflow.ObjectID{{Kind: dataflow.KindDataObject, Name: c.name}, {Kind: dataflow.KindTarget, Name: c.name}}; !slices.Equal(
				ids,
				want,
			) {
				t.Errorf("exported objects = %v", ids)
			}
		})
	}
}

func TestTargetExports(t *testing.T) {
	const full = `landscaper.gardener.cloud/kubernetes-cluster`
	for name, c := range map[string]struct{ value, want, fault string }{
		"config":                 {`{type: ` + full + `, config: {kubeconfig: x}}`, `{type: ` + full + `, config: {kubeconfig: x}}`, ""},
		"a config that is text":  {`{type: ` + full + `, config: text}`, `{type: ` + full + `, config: text}`, ""},
		"secretRef":              {`{type: ` + full + `, secretRef: {name: s, key: k}}`, `{type: ` + full + `, secretRef: {name: s, key: k}}`, ""},
		"secretRef without key":  {`{type: ` + full + `, secretRef: {name: s}}`, `{type: ` + full + `, secretRef: {name: s}}`, ""},
		"neither":                {`{type: ` + full + `}`, `{type: ` + full + `}`, ""},
		"nulls":                  {`{type: ` + full + `, config: null, secretRef: null, labels: null}`, `{type: ` + full + `}`, ""},
		"both":                   {`{type: ` + full + `, config: {a: 1}, secretRef: {name: s}}`, "", "config and secretRef exclude each other"},
		"another type":           {`{type: a/b}`, "", `export "cluster": the target is of type "a/b", but the blueprint declares "` + full + `"`},
		"no type":                {`{config: {a: 1}}`, "", "type must be a text"},
		"a type that is no text": {`{type: 1}`, "", "type must be a text"},
		"not an object":          {`[]`, "", "it is not an object"},
		"an old name":            {`{type: ` + full + `, configuration: {a: 1}}`, "", "configuration has no effect: the field is called config"},
		"a bad secretRef":        {`{type: ` + full + `, secretRef: s}`, "", "secretRef must be an object with name and key"},
		"a nameless secretRef":   {`{type: ` + full + `, secretRef: {key: k}}`, "", "secretRef.name must be the name of a Secret"},
		"a bad key":              {`{type: ` + full + `, secretRef: {name: s, key: 1}}`, "", "secretRef.key must be a text"},
		"bad labels":             {`{type: ` + full + `, labels: []}`, "", "labels must be an object"},
		"a label that is number": {`{type: ` + full + `, labels: {a: 1}}`, "", `labels: the value of "a" must be a text; quote it`},
		"a label with a space":   {`{type: ` + full + `, labels: {a: "hunter2 "}}`, "", `labels: the value of "a" is not a valid label`},
		"a bad key of a label":   {`{type: ` + full + `, labels: {"a b": x}}`, "", `labels: "a b" is not a valid key`},
		"a bad annotation":       {`{type: ` + full + `, annotations: {a: {}}}`, "", `annotations: the value of "a" must be a text; quote it`},
	} {
		t.Run(name, func(t *testing.T) {
			e := exported{oneCluster, `{cluster: ` + c.value + `}`, `targets: [{name: cluster, target: out}]`, ``}
			if c.fault != "" {
				_, err := e.build(t)
				expectError(t, err, failure.Terminal, c.fault, `export "cluster"`)
				if strings.Contains(err.Error(), "hunter2") {
					t.Errorf("the value is in the error: %v", err)
				}
				return
			}
			objects, err := e.objects(t, root, nil)
			if err != nil {
				t.Fatal(err)
			}
			expectYAML(t, "spec", objects.Targets[0].Spec, c.want)
		})
	}
}

func TestExportsThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		exported
		want string
	}{
		"not produced":            {exported{textAndNumber, `{number: 3}`, `data: [{name: text, dataRef: a}]`, ``}, `data export "text" is missing: neither the export executions of blueprint "web" nor exportDataMappings of installation garden/app provide it`},
		"not declared":            {exported{`[]`, `{text: hello}`, `data: [{name: text, dataRef: a}]`, ``}, `data export "text" is missing`},
		"a target not produced":   {exported{oneCluster, `{}`, `targets: [{name: cluster, target: a}]`, ``}, `target export "cluster" is missing`},
		"every one that is":       {exported{`[]`, `{}`, `data: [{name: a, dataRef: a}, {name: b, dataRef: b}]`, ``}, `data export "b" is missing`},
		"against the schema":      {exported{textAndNumber, `{text: 1, number: 3}`, `{}`, ``}, `the value of export "text": expected string, found integer`},
		"a mapping that fails":    {exported{textAndNumber, `{text: a}`, `{}`, `{x: (( nobody ))}`}, `data mapping "x"`},
		"a mapping that is wrong": {exported{oneCluster, `{}`, `targets: [{name: cluster, target: a}]`, `{cluster: text}`}, `export "cluster" is not a target: it is not an object`},
		"an element of a list":    {exported{textAndNumber, `{text: a}`, `data: [{name: text, dataRef: "list[0]"}]`, ``}, `data export "text" cannot be stored under "list[0]": it becomes a label`},
		"a bad global name":       {exported{textAndNumber, `{text: a}`, `data: [{name: text, dataRef: "#My_Data"}]`, ``}, `cannot be stored under "#My_Data": the part after # must be the name of an object`},
		"an empty global name":    {exported{textAndNumber, `{text: a}`, `data: [{name: text, dataRef: "#"}]`, ``}, `cannot be stored under "#": it is empty`},
		"an unknown type":         {exported{`[{name: x, type: targetList}]`, `{x: []}`, `{}`, ``}, `export "x" of the blueprint is neither data nor target`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.build(t)
			expectError(t, err, failure.Terminal, c.want)
		})
	}
}

func TestExportsThatAreMissingOrUnused(t *testing.T) {
	e := exported{textAndNumber, `{text: hello, secret: hunter2}`, `data: [{name: text, dataRef: a}]`, `{unused: 1}`}
	built, err := e.build(t)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`export "secret" is dropped: the blueprint does not declare it`,
		`the blueprint declares export "number" but does not provide it`,
		`exportDataMappings: "unused" has no effect: spec.exports has no export of that name`,
	}
	if !slices.Equal(built.Warnings, want) {
		t.Errorf("warnings = %q", built.Warnings)
	}
}

func TestObjectsOfOthersAreNotOverwritten(t *testing.T) {
	e := exported{
		`[{name: text, type: data}, {name: c, type: target}]`,
		`{text: hello, c: {type: vm}}`,
		`{data: [{name: text, dataRef: a}], targets: [{name: c, target: a}]}`,
		``,
	}
	owner := func(kind, name string, uid ktypes.UID) []metav1.OwnerReference {
		return []metav1.OwnerReference{{Kind: kind, Name: name, UID: uid}}
	}
	for name, c := range map[string]struct {
		kind dataflow.ObjectKind
		refs []metav1.OwnerReference
		want string
	}{
		"nobody's":                      {dataflow.KindDataObject, nil, ""},
		"its own":                       {dataflow.KindDataObject, owner("Installation", "app", "uid-1"), ""},
		"not an installation's":         {dataflow.KindDataObject, owner("ConfigMap", "x", "uid-9"), ""},
		"another installation's":        {dataflow.KindDataObject, owner("Installation", "other", "uid-9"), `export "text" cannot be written: DataObject garden/a belongs to installation "other"`},
		"another installation's Target": {dataflow.KindTarget, owner("Installation", "other", "uid-9"), `export "c" cannot be written: Target garden/a belongs to installation "other"`},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := e.objects(t, root, dataflow.Existing{{Kind: c.kind, Name: "a"}: c.refs})
			if c.want == "" {
				if err != nil || len(objects.DataObjects) != 1 || len(objects.Targets) != 1 {
					t.Errorf("objects = %v, %v", objects, err)
				}
				return
			}
			expectError(t, err, failure.Terminal, c.want)
			if objects.DataObjects != nil || objects.Targets != nil {
				t.Error("there are objects in spite of the conflict: they could be written")
			}
		})
	}
}

func TestWhatAnEarlierInstallationLeftBehindIsWaitedFor(t *testing.T) {
	e := exported{textAndNumber, `{text: hello}`, `data: [{name: text, dataRef: a}]`, ``}
	existing := dataflow.Existing{{Kind: dataflow.KindDataObject, Name: "a"}: {{Kind: "Installation", Name: "app", UID: "uid-0"}}}
	_, err := e.objects(t, root, existing)
	expectError(
		t,
		err,
		failure.Retryable,
		`export "text" cannot be written yet: DataObject garden/a is left over from an earlier installation of the same name`,
	)
	if reason := failure.DetailsOf(err).Reason; reason != dataflow.ReasonExportConflict {
		t.Errorf("reason = %s", reason)
	}
}

func TestTwoExportsToOneObject(t *testing.T) {
	e := exported{textAndNumber, `{text: hello, number: 3}`, `data: [{name: text, dataRef: a}, {name: number, dataRef: "#a"}]`, ``}
	_, err := e.objects(t, root, nil)
	expectError(t, err, failure.Terminal, `exports "text" and "number" go to the same DataObject garden/a: give them different references`)
	if _, err := e.objects(t, nested, nil); err != nil {
		t.Errorf("in a nested scope they are different objects: %v", err)
	}
}

func TestContextValues(t *testing.T) {
	other := labelled(inScope(dataObject(t, "", `9`), "elsewhere"), "context", "Inst.other")
	old := labelled(inScope(dataObject(t, "", `9`), "old"), "jobid", "job-1")
	values, err := dataflow.CollectContext(
		"tree",
		job,
		[]*lsv1alpha1.DataObject{
			inScope(dataObject(t, "", `{a: 1}`), "config"),
			labelled(inScope(dataObject(t, "", `x`), "url"), "sourceType", "export"),
			other,
			old,
			dataObject(t, "config", `7`),
		},
		[]*lsv1alpha1.Target{
			inScope(cluster(t, "eu"), "one"),
			element(
				cluster(t, "third"),
				"list",
				"index",
				"2",
			), element(cluster(t, "first"), "list", "index", "0"), element(cluster(t, "second"), "list", "index", "1"),
			element(cluster(t, "north"), "map", "targetmapkey", "n"), element(cluster(t, "east"), "map", "targetmapkey", "e"),
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	expectYAML(t, "data objects", values.DataObjects, `{config: {a: 1}, url: x}`)
	config := func(value any) any {
		return value.(map[string]any)["spec"].(map[string]any)["config"].(map[string]any)["kubeconfig"]
	}
	list, targetMap := values.Targets["list"].([]any), values.Targets["map"].(map[string]any)
	got := map[string]any{
		"one":  config(values.Targets["one"]),
		"list": []any{config(list[0]), config(list[1]), config(list[2])},
		"n":    config(targetMap["n"]),
		"e":    config(targetMap["e"]),
	}
	expectYAML(t, "targets", got, `{one: of eu, list: [of first, of second, of third], "n": of north, e: of east}`)

	continuous, err := dataflow.CollectContext("tree", "", []*lsv1alpha1.DataObject{old}, nil)
	if err != nil {
		t.Fatal(err)
	}
	expectYAML(t, "without jobs", continuous.DataObjects, `{old: 9}`)
	old.Data.Raw = []byte(`{`)
	_, err = dataflow.CollectContext("tree", "", []*lsv1alpha1.DataObject{old}, nil)
	expectError(t, err, failure.Terminal, "cannot be read: it is not valid JSON")
}
