// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the expected files of this package anew")

// golden compares a text with a golden file, or updates the file.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// conversionCases returns the descriptors under testdata/convert by name.
func conversionCases(t *testing.T) map[string]*Descriptor {
	t.Helper()
	files, err := filepath.Glob("testdata/convert/*.in.*")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	cases := map[string]*Descriptor{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(filepath.Base(file), ".in.")
		cases[name] = describe(t, string(text))
	}
	return cases
}

func TestConvertBetweenSchemas(t *testing.T) {
	for name, d := range conversionCases(t) {
		for suffix, schema := range map[string]Schema{".v2.yaml": SchemaV2, ".v3.yaml": SchemaV3} {
			t.Run(name+suffix, func(t *testing.T) {
				text, err := d.YAML(schema)
				if err != nil {
					t.Fatal(err)
				}
				golden(t, filepath.Join("testdata/convert", name+suffix), text)
			})
		}
	}
}

// A round trip through a descriptor's own schema loses nothing, and a round trip through the other schema keeps what both schemas know.
func TestConvertThereAndBack(t *testing.T) {
	other := map[Schema]Schema{SchemaV2: SchemaV3, SchemaV3: SchemaV2}
	for name, d := range conversionCases(t) {
		t.Run(name, func(t *testing.T) {
			if again := rewrite(t, d, d.Schema); !reflect.DeepEqual(again, d) {
				t.Errorf("through %s: got %+v, want %+v", d.Schema, again, d)
			}
			there := rewrite(t, d, other[d.Schema])
			if there.Schema == d.Schema {
				t.Errorf("it is still written in %s", d.Schema)
			}
			back := rewrite(t, there, d.Schema)
			want := *d
			back.unknown, want.unknown = unknownFields{}, unknownFields{}
			if !reflect.DeepEqual(back, &want) {
				t.Errorf("there and back: got %+v, want %+v", back, want)
			}
		})
	}
}

func rewrite(t *testing.T, d *Descriptor, schema Schema) *Descriptor {
	t.Helper()
	text, err := d.JSON(schema)
	if err != nil {
		t.Fatal(err)
	}
	return describe(t, string(text))
}

// Callers may change a view without changing the descriptor.
func TestViewBelongsToTheCaller(t *testing.T) {
	for name, d := range conversionCases(t) {
		for _, schema := range []Schema{SchemaV2, SchemaV3} {
			before, err := d.JSON(schema)
			if err != nil {
				t.Fatal(err)
			}
			spoil(d.View(schema))
			if after, err := d.JSON(schema); err != nil || string(before) != string(after) {
				t.Errorf("%s: changing the view in %s changed the descriptor: %v", name, schema, err)
			}
		}
	}
}

// spoil changes everything in a JSON value.
func spoil(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			spoil(inner)
			v[key] = "spoilt"
		}
		v["more"] = true
	case []any:
		for i, inner := range v {
			spoil(inner)
			v[i] = "spoilt"
		}
	}
}

func TestSchemaFor(t *testing.T) {
	v3 := &Descriptor{Schema: SchemaV3}
	cases := map[string]struct {
		annotations map[string]string
		root        *Descriptor
		want        Schema
	}{
		"what the component is written in": {nil, v3, SchemaV3},
		"what the annotation asks for":     {map[string]string{"ocmSchemaVersion": "v2"}, v3, SchemaV2},
		"in full":                          {map[string]string{"ocmSchemaVersion": "ocm.software/v3alpha1"}, nil, SchemaV3},
		"without a component":              {nil, nil, SchemaV2},
		"an empty annotation says nothing": {map[string]string{"ocmSchemaVersion": ""}, v3, SchemaV3},
	}
	for name, c := range cases {
		if got, err := SchemaFor(c.annotations, c.root); err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, c.want)
		}
	}
	_, err := SchemaFor(map[string]string{"ocmSchemaVersion": "v4"}, v3)
	wantError(t, err, "ocmSchemaVersion", `"v4"`, "v2", "ocm.software/v3alpha1")
}
