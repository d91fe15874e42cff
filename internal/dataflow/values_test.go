// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow_test

import (
	"reflect"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
)

func TestNumbersKeepTheirDigits(t *testing.T) {
	for text, want := range map[string]any{
		"3": int64(3), "3.0": int64(3), "-0.0": int64(0), "1e3": int64(1000), "0.1": 0.1, "9007199254740993": int64(9007199254740993),
		"9223372036854775807": int64(9223372036854775807), "-9223372036854775808": int64(-9223372036854775808),
		"9223372036854775808": 9223372036854775808.0, "1e300": 1e300, "null": nil, "true": true, `"3"`: "3",
		`[1, 2.5]`: []any{int64(1), 2.5}, `{"a": {"b": 7.0}}`: map[string]any{"a": map[string]any{"b": int64(7)}},
	} {
		object := &lsv1alpha1.DataObject{Data: lsv1alpha1.AnyJSON{Raw: []byte(text)}}
		object.Name = "d"
		resolved := resolve(t, root, `data: [{name: x, dataRef: d}]`, dataflow.Facts{DataObjects: []*lsv1alpha1.DataObject{object}})
		if !reflect.DeepEqual(resolved["x"].Data, want) {
			t.Errorf("%s = %#v, want %#v", text, resolved["x"].Data, want)
		}
	}
	for _, text := range []string{"1e400", `{"a":[1e400]}`, `[{"a":-1e999}]`} {
		object := &lsv1alpha1.DataObject{Data: lsv1alpha1.AnyJSON{Raw: []byte(text)}}
		object.Name = "d"
		_, err := dataflow.Resolve(
			root,
			imports(t, `data: [{name: x, dataRef: d}]`),
			dataflow.Facts{DataObjects: []*lsv1alpha1.DataObject{object}},
		)
		expectError(t, err, failure.Terminal, "it contains a number that is out of range")
	}
}

func TestTypesOfDefinitions(t *testing.T) {
	for text, want := range map[string][2]string{
		`{name: x, type: data}`:                       {"data", ""},
		`{name: x, schema: {type: string}}`:           {"data", ""},
		`{name: x, targetType: vm}`:                   {"target", "landscaper.gardener.cloud/vm"},
		`{name: x, targetType: example.com/vm}`:       {"target", "example.com/vm"},
		`{name: x, type: targetList, targetType: vm}`: {"targetList", "landscaper.gardener.cloud/vm"},
		`{name: x, type: targetMap, targetType: vm}`:  {"targetMap", "landscaper.gardener.cloud/vm"},
		`{name: x}`:                                          {"", ""},
		`{name: x, schema: {}, targetType: vm}`:              {"", "landscaper.gardener.cloud/vm"},
		`{name: x, schema: null, targetType: vm}`:            {"target", "landscaper.gardener.cloud/vm"},
		`{name: x, type: target, schema: {}, targetType: a}`: {"target", "landscaper.gardener.cloud/a"},
	} {
		d := parse[lsv1alpha1.FieldValueDefinition](t, text)
		if got := [2]string{string(dataflow.TypeOf(&d)), dataflow.TargetTypeOf(&d)}; got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}

func TestValuesWithoutJSONForm(t *testing.T) {
	_, err := dataflow.BuildExports(dataflow.ExportInput{
		Definitions: parse[[]lsv1alpha1.ExportDefinition](t, `[{name: x, type: data}]`), Values: map[string]any{"x": func() {}}, Validate: types,
	})
	expectError(t, err, failure.Terminal, `export "x": it has no JSON form`)

	imports, err := construct(t, `[{name: text, type: data}]`, ``)
	if err != nil {
		t.Fatal(err)
	}
	imports.Values["text"] = make(chan int)
	_, err = imports.Objects(app)
	expectError(t, err, failure.Terminal, `import "text" has no JSON form`)
}

func TestADefaultThatCannotBeRead(t *testing.T) {
	broken := lsv1alpha1.ImportDefinition{Default: &lsv1alpha1.ImportDefault{Value: lsv1alpha1.AnyJSON{Raw: []byte("{")}}}
	broken.Name, broken.Type, broken.Required = "x", lsv1alpha1.ImportTypeData, new(bool)
	_, err := dataflow.Construct(dataflow.ImportInput{Definitions: []lsv1alpha1.ImportDefinition{broken}, Validate: types})
	expectError(t, err, failure.Terminal, `blueprint import "x": its default cannot be read: it is not valid JSON`)
	_, err = dataflow.Construct(dataflow.ImportInput{
		Mappings: map[string]lsv1alpha1.AnyJSON{"x": {Raw: []byte("{")}},
		Map:      paths,
		Validate: types,
	})
	expectError(t, err, failure.Terminal, `data mapping "x": the mapping is no JSON`)
}
