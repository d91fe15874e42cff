// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"espalier.dev/api/landscaper/v1alpha1"
)

func TestAnyJSONKeepsEveryValue(t *testing.T) {
	for _, text := range []string{
		`{"a":{"b":[1,2.5,"three",null,true]}}`, `[]`, `{}`, `""`, `"text with \"quotes\" and é"`,
		`0`, `-1`, `12345678901234567890`, `1.0`, `1e400`, `true`, `false`,
	} {
		t.Run(text, func(t *testing.T) {
			var value v1alpha1.AnyJSON
			if err := json.Unmarshal([]byte(text), &value); err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != text {
				t.Errorf("got %s", got)
			}
			if value.IsNull() {
				t.Error("is taken for null")
			}
		})
	}
}

func TestAnyJSONKnowsNull(t *testing.T) {
	for name, value := range map[string]v1alpha1.AnyJSON{
		"nothing":           {},
		"empty":             {Raw: []byte{}},
		"null":              {Raw: []byte("null")},
		"null among spaces": {Raw: []byte(" null\n")},
	} {
		t.Run(name, func(t *testing.T) {
			if !value.IsNull() {
				t.Error("is not taken for null")
			}
			got, err := json.Marshal(value)
			if err != nil || string(got) != "null" {
				t.Errorf("got %s, %v", got, err)
			}
			var decoded any = "something else"
			if err := value.Decode(&decoded); err != nil || decoded != nil {
				t.Errorf("decoded to %v, %v", decoded, err)
			}
		})
	}
}

func TestAnyJSONOwnsItsText(t *testing.T) {
	text := []byte(`{"a":1}`)
	var value v1alpha1.AnyJSON
	if err := value.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	text[2] = 'b'
	if string(value.Raw) != `{"a":1}` {
		t.Errorf("changed with the text it was read from: %s", value.Raw)
	}
}

func TestAnyJSONConvertsGoValues(t *testing.T) {
	original := map[string]any{"replicas": 2.0, "names": []any{"a", "b"}}
	value, err := v1alpha1.NewAnyJSON(original)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := value.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, original) {
		t.Errorf("got %v", got)
	}
	if _, err := v1alpha1.NewAnyJSON(make(chan int)); err == nil {
		t.Error("a channel became JSON")
	}
}

func TestAnyJSONReportsWhatDoesNotFit(t *testing.T) {
	var number int
	if err := (v1alpha1.AnyJSON{Raw: []byte(`"text"`)}).Decode(&number); err == nil {
		t.Error("text was decoded to a number")
	}
	if _, err := json.Marshal(v1alpha1.AnyJSON{Raw: []byte(`{"a":`)}); err == nil {
		t.Error("half an object was written")
	}
}
