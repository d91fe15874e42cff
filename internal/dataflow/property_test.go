// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/schema"
)

const canary = "s3cr3tcanary"

// FuzzContent reads arbitrary bytes as Secrets, ConfigMaps and DataObjects. Whatever can be read is plain JSON and survives a round trip
// through an object; whatever cannot does not appear in the error.
func FuzzContent(f *testing.F) {
	for _, seed := range []string{
		"text", "3", "3.0", "1e3", "{a: 1}", `{"a":[1,{"b":null}]}`, "a: b: c", "- 1\n- x", "", "9007199254740993", "1e999", "&a [*a]", "!!binary aGk=",
		"2001-01-01", "? [1]\n: 2", "a: &x {b: 1}\nc: *x", "\"\\u0000\"", "---\na: 1\n---\nb: 2", "0x1F", ".inf", "yes", "{1: 2, true: 3}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		facts := dataflow.Facts{
			Secrets:     map[string]map[string][]byte{"s": {"k": text, "fixed": []byte("1")}},
			ConfigMaps:  map[string]map[string][]byte{"c": {"k": text}},
			DataObjects: []*lsv1alpha1.DataObject{{Data: lsv1alpha1.AnyJSON{Raw: text}}},
		}
		facts.DataObjects[0].Name = "d"
		byKey, err := dataflow.Resolve(root, imports(t, `data: [{name: x, secretRef: {name: s, key: k}}]`), facts)
		checkQuiet(t, err, text)
		whole, wholeErr := dataflow.Resolve(root, imports(t, `data: [{name: x, secretRef: {name: s}}]`), facts)
		checkQuiet(t, wholeErr, text)
		if (err == nil) != (wholeErr == nil) {
			t.Fatalf("by key %v, as a whole %v", err, wholeErr)
		}
		if err == nil {
			if inner := whole["x"].Data.(map[string]any)["k"]; !reflect.DeepEqual(inner, byKey["x"].Data) {
				t.Fatalf("by key %#v, as a whole %#v", byKey["x"].Data, inner)
			}
			checkRoundTrip(t, byKey)
		}
		object, err := dataflow.Resolve(root, imports(t, `data: [{name: x, dataRef: d}]`), facts)
		checkQuiet(t, err, text)
		if (err == nil) != (json.Valid(text) || len(strings.TrimSpace(string(text))) == 0) &&
			!strings.Contains(fmt.Sprint(err), "out of range") {
			t.Fatalf("valid JSON: %t, error: %v", json.Valid(text), err)
		}
		if err == nil {
			checkRoundTrip(t, object)
		}
	})
}

// checkQuiet checks that an error is terminal and repeats none of the words in the text.
func checkQuiet(t *testing.T, err error, text []byte) {
	t.Helper()
	if err == nil {
		return
	}
	if failure.KindOf(err) != failure.Terminal {
		t.Fatalf("%v is %v", err, failure.KindOf(err))
	}
	for word := range strings.FieldsSeq(string(text)) {
		if len(word) > 12 && strings.Contains(err.Error(), word) {
			t.Fatalf("%q is in the error: %v", word, err)
		}
	}
}

// checkRoundTrip stores data as a context object and reads it again.
func checkRoundTrip(t *testing.T, resolved dataflow.Resolved) {
	t.Helper()
	imports, err := dataflow.Construct(dataflow.ImportInput{
		Definitions: []lsv1alpha1.ImportDefinition{{FieldValueDefinition: lsv1alpha1.FieldValueDefinition{Name: "x", Type: "data"}}},
		Resolved:    resolved,
	})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := imports.Objects(app)
	if err != nil {
		t.Fatal(err)
	}
	again, err := dataflow.Resolve(dataflow.Scope{Namespace: namespace, Parent: "app", JobID: job},
		lsv1alpha1.InstallationImports{Data: []lsv1alpha1.DataImport{{
			Name:    "x",
			DataRef: "x",
		}}}, dataflow.Facts{DataObjects: objects.DataObjects})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again["x"].Data, resolved["x"].Data) {
		t.Fatalf("stored %#v, read %#v", resolved["x"].Data, again["x"].Data)
	}
	h := hasher(t, "k")
	if h.Hash(again).ByImport["x"] != h.Hash(resolved).ByImport["x"] {
		t.Fatalf("the hash of %#v changed on its way", resolved["x"].Data)
	}
}

// FuzzMappings applies mappings of any shape to any data. A mapping without an expression is a constant; an import without a mapping is
// passed on; the order of evaluation does not matter.
func FuzzMappings(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"a":1}`, `{"x":"(( a ))"}`}, {`{"a":{"b":[1]}}`, `{"a":"(( a.b ))","c":[1,"(( a ))"]}`}, {`{}`, `{}`}, {`{"x":1}`, `{"x":{"x":"(( x ))"}}`},
		{`{"a":null}`, `{"x":"(( a ))","z":null}`}, {`[]`, `7`}, {`{"exports":1}`, `{"x":"(( exports ))"}`}, {`{"":1}`, `{"":2}`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, dataText, mappingText string) {
		var data map[string]any
		var mappings map[string]lsv1alpha1.AnyJSON
		if json.Unmarshal([]byte(dataText), &data) != nil || json.Unmarshal([]byte(mappingText), &mappings) != nil {
			return
		}
		resolved := dataflow.Resolved{}
		var wanted []lsv1alpha1.ImportDefinition
		want := func(name string) {
			wanted = append(wanted, lsv1alpha1.ImportDefinition{FieldValueDefinition: lsv1alpha1.FieldValueDefinition{Name: name, Type: "data"}})
		}
		for name, value := range data {
			resolved[name] = dataflow.Import{Name: name, Type: lsv1alpha1.ImportTypeData, Data: value}
			want(name)
		}
		for name := range mappings {
			if _, imported := data[name]; !imported {
				want(name)
			}
		}
		in := dataflow.ImportInput{Definitions: wanted, Resolved: resolved, Mappings: mappings, Map: paths}
		imports, err := dataflow.Construct(in)
		again, errAgain := dataflow.Construct(in)
		if fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Fatalf("first %v, then %v", err, errAgain)
		}
		if err != nil {
			if failure.KindOf(err) != failure.Terminal || !strings.Contains(err.Error(), "data mapping") {
				t.Fatalf("error = %v", err)
			}
			return
		}
		if !reflect.DeepEqual(imports.Values, again.Values) || len(imports.Values) != len(wanted) {
			t.Fatalf("first %v, then %v, wanted %d", imports.Values, again.Values, len(wanted))
		}
		for name, value := range imports.Values {
			text, mapped := mappings[name]
			if !mapped && !reflect.DeepEqual(value, data[name]) {
				t.Fatalf("%q is %v, imported was %v", name, value, data[name])
			}
			if mapped && !strings.Contains(mappingText, "(") && asJSON(t, value) != compact(t, text) {
				t.Fatalf("the constant %s became %s", text.Raw, asJSON(t, value))
			}
		}
	})
}

// compact writes JSON the way this package does.
func compact(t *testing.T, text lsv1alpha1.AnyJSON) string {
	t.Helper()
	resolved, err := dataflow.Resolve(root, lsv1alpha1.InstallationImports{Data: []lsv1alpha1.DataImport{{
		Name:    "x",
		DataRef: "d",
	}}}, dataflow.Facts{DataObjects: []*lsv1alpha1.DataObject{func() *lsv1alpha1.DataObject {
		object := &lsv1alpha1.DataObject{Data: text}
		object.Name = "d"
		return object
	}()}})
	if err != nil {
		t.Fatal(err)
	}
	return asJSON(t, resolved["x"].Data)
}

// FuzzTargetExport reads any value as an exported target. An accepted target has exactly the given configuration.
func FuzzTargetExport(f *testing.F) {
	for _, seed := range []string{
		`{"type":"a/b","config":{"x":1}}`, `{"type":"a","secretRef":{"name":"s","key":"k"}}`, `{"type":"a","labels":{"k":"v"},"annotations":{"a":"b"}}`,
		`{"type":"","config":1}`, `[]`, `null`, `{"type":"a","config":null,"configuration":1}`, `{"type":"a","labels":{"x y":"` + canary + `"}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var value any
		if json.Unmarshal([]byte(text), &value) != nil {
			return
		}
		built, err := dataflow.BuildExports(dataflow.ExportInput{
			Definitions: []lsv1alpha1.ExportDefinition{{FieldValueDefinition: lsv1alpha1.FieldValueDefinition{Name: "x", Type: "target"}}},
			Values:      map[string]any{"x": value},
			Exports:     lsv1alpha1.InstallationExports{Targets: []lsv1alpha1.TargetExport{{Name: "x", Target: "out"}}},
		})
		if err != nil {
			if failure.KindOf(err) != failure.Terminal || strings.Contains(err.Error(), canary) {
				t.Fatalf("error = %v", err)
			}
			return
		}
		objects, err := built.Objects(nested, app, nil)
		if err != nil {
			t.Fatal(err)
		}
		target, given := objects.Targets[0], value.(map[string]any)
		if target.Name != nested.ObjectName("out") || string(target.Spec.Type) != given["type"] {
			t.Fatalf("%s became %+v", text, target)
		}
		if config := target.Spec.Configuration; config != nil {
			if got := compact(t, *config); got != compact(t, lsv1alpha1.AnyJSON{Raw: []byte(asJSON(t, given["config"]))}) {
				t.Fatalf("the configuration of %s became %s", text, got)
			}
		} else if given["config"] != nil {
			t.Fatalf("the configuration of %s is gone", text)
		}
	})
}

// TestSecretsStayOutOfErrors triggers every error that can involve a secret, with real schemas.
func TestSecretsStayOutOfErrors(t *testing.T) {
	compiler := schema.NewCompiler(schema.DefaultLimits(), schema.DefaultCacheBytes)
	validate := func(what string, text lsv1alpha1.AnyJSON, value any) error {
		return compiler.Validate(what, text.Raw, schema.Sources{}, value)
	}
	facts := dataflow.Facts{Secrets: map[string]map[string][]byte{"s": {
		"k": []byte(canary),
		"j": []byte("{pin: 424242, list: [" + canary + "]}"),
	}}}
	errors := 0
	for _, text := range []string{
		`{"type":"integer"}`, `{"minLength":100}`, `{"maxLength":1}`, `{"pattern":"^x$"}`, `{"enum":["a","b"]}`, `{"const":"a"}`, `{"format":"ipv4"}`,
		`{"not":{"type":"string"}}`, `{"anyOf":[{"type":"null"},{"maxLength":2}]}`, `{"type":"object"}`, `false`,
		`{"properties":{"pin":{"maximum":1},"list":{"items":{"maxLength":1}}},"required":["pin","other"]}`,
		`{"properties":{"pin":{"multipleOf":7},"list":{"uniqueItems":true,"contains":{"const":1}}}}`,
		`{"properties":{"pin":{"exclusiveMaximum":1}},"additionalProperties":{"type":"string"}}`,
	} {
		for _, key := range []string{"k", "j"} {
			resolved := resolve(t, root, `data: [{name: x, secretRef: {name: s, key: `+key+`}}]`, facts)
			definition := lsv1alpha1.FieldValueDefinition{Name: "x", Type: "data", Schema: &lsv1alpha1.AnyJSON{Raw: []byte(text)}}
			_, err := dataflow.Construct(dataflow.ImportInput{
				Definitions: []lsv1alpha1.ImportDefinition{{FieldValueDefinition: definition}},
				Resolved:    resolved,
				Validate:    validate,
			})
			_, exportErr := dataflow.BuildExports(dataflow.ExportInput{
				Definitions: []lsv1alpha1.ExportDefinition{{FieldValueDefinition: definition}},
				Values:      map[string]any{"x": resolved["x"].Data},
				Validate:    validate,
			})
			if (err == nil) != (exportErr == nil) {
				t.Errorf("%s: import %v, export %v", text, err, exportErr)
			}
			for _, e := range []error{err, exportErr} {
				if e == nil {
					continue
				}
				errors++
				if strings.Contains(e.Error(), canary) || strings.Contains(e.Error(), "424242") {
					t.Errorf("%s: the secret is in the error: %v", text, e)
				}
				if reason := failure.DetailsOf(e).Reason; reason != schema.ReasonSchemaValidationFailed {
					t.Errorf("%s: reason = %s", text, reason)
				}
			}
		}
	}
	if errors < 30 {
		t.Errorf("only %d errors were seen", errors)
	}
}

// BenchmarkTwentyImports does for an installation with twenty imports what every job does: resolve, check, hash, and
// compute the context objects.
func BenchmarkTwentyImports(b *testing.B) {
	var facts dataflow.Facts
	var given lsv1alpha1.InstallationImports
	var wanted []lsv1alpha1.ImportDefinition
	for i := range 15 {
		name := fmt.Sprintf("data-%d", i)
		facts.DataObjects = append(
			facts.DataObjects,
			dataObject(b, name, `{name: server, replicas: 3, ports: [{name: http, port: 80}, {name: grpc, port: 81}], labels: {a: b, c: d}}`),
		)
		given.Data = append(given.Data, lsv1alpha1.DataImport{Name: name, DataRef: name})
		wanted = append(
			wanted,
			definitions(
				b,
				`[{name: `+name+`, schema: {type: object, required: [name, replicas], properties: {name: {type: string}, replicas: {type: integer, minimum: 1}, ports: {type: array, items: {type: object, properties: {port: {type: integer}}}}}}}]`,
			)...)
	}
	for i := range 5 {
		name := fmt.Sprintf("cluster-%d", i)
		facts.Targets = append(facts.Targets, cluster(b, name))
		given.Targets = append(given.Targets, lsv1alpha1.TargetImport{Name: name, Target: name})
		wanted = append(wanted, definitions(b, `[{name: `+name+`, targetType: kubernetes-cluster}]`)...)
	}
	compiler := schema.NewCompiler(schema.DefaultLimits(), schema.DefaultCacheBytes)
	in := dataflow.ImportInput{Definitions: wanted, Validate: func(what string, text lsv1alpha1.AnyJSON, value any) error {
		return compiler.Validate(what, text.Raw, schema.Sources{}, value)
	}}
	h := hasher(b, "k")
	b.Run("resolve", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := dataflow.Resolve(root, given, facts); err != nil {
				b.Fatal(err)
			}
		}
	})
	resolved, err := dataflow.Resolve(root, given, facts)
	if err != nil {
		b.Fatal(err)
	}
	in.Resolved = resolved
	b.Run("check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := dataflow.Construct(in); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("hash", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			h.Hash(resolved)
		}
	})
	imports, err := dataflow.Construct(in)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("objects", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := imports.Objects(app); err != nil {
				b.Fatal(err)
			}
		}
	})
}
