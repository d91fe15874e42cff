// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/lru"
	"espalier.dev/internal/template/spiff"
)

// mappedInput is an installation with the same mapping for imports and exports.
func mappedInput(t *testing.T, e *Engine, mapping string) Input {
	t.Helper()
	in := inputOf(t, e, files("imports: [{name: a, type: data}]\nexports: [{name: a, type: data}]"))
	in.Installation.Spec.Exports.Data = []lsv1alpha1.DataExport{{Name: "a", DataRef: "a"}}
	in.Installation.Spec.ImportDataMappings = map[string]lsv1alpha1.AnyJSON{"a": inline(mapping)}
	in.Installation.Spec.ExportDataMappings = map[string]lsv1alpha1.AnyJSON{"a": inline(mapping)}
	return in
}

func TestMappingsAreCompiledOnce(t *testing.T) {
	e := NewEngine()
	compiled := map[string]*spiff.Template{}
	for run := range 3 {
		in := mappedInput(t, e, `{"x": "(( 1 + 2 ))"}`)
		out, err := e.Render(in)
		if err != nil || fmt.Sprint(out.Imports.Values["a"]) != "map[x:3]" {
			t.Fatalf("got %v, %v", out, err)
		}
		if _, _, err := e.Exports(in, ExportValues{}); err != nil {
			t.Fatal(err)
		}
		for _, field := range []string{"importDataMappings", "exportDataMappings"} {
			forgotten := errors.New("not remembered")
			found, err := e.mappings.Get(
				lru.KeyOf([]byte(field), []byte(`{"x": "(( 1 + 2 ))"}`)),
				func() (*spiff.Template, int, error) { return nil, 0, forgotten },
			)
			if err != nil || run > 0 && found != compiled[field] {
				t.Errorf("run %d, %s: compiled again", run, field)
			}
			compiled[field] = found
		}
	}
	if e.mappings.Len() != 2 {
		t.Errorf("%d mappings are remembered", e.mappings.Len())
	}
	if out, err := e.Render(mappedInput(t, e, `{"x": "(( 1 + 3 ))"}`)); err != nil || fmt.Sprint(out.Imports.Values["a"]) != "map[x:4]" {
		t.Errorf("another mapping: %v, %v", out, err)
	}
}

func TestMappingsThatFail(t *testing.T) {
	e := NewEngine()
	for mapping, want := range map[string]string{
		`{"x": "(( 1 + ))"}`:    "syntax error",
		`{"x": "(( absent ))"}`: "absent is not defined",
		`{`:                     "not valid JSON",
	} {
		for range 2 {
			_, err := e.Render(mappedInput(t, e, mapping))
			if failure.KindOf(err) != failure.Terminal {
				t.Errorf("%s: got %v, want a terminal error", mapping, err)
				continue
			}
			if !strings.Contains(err.Error(), `data mapping "a"`) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want the name of the mapping and %q", mapping, err, want)
			}
		}
	}
	// Only the one that compiles is cached.
	if e.mappings.Len() != 1 {
		t.Errorf("%d mappings are remembered", e.mappings.Len())
	}
}

// An empty mapping is null, however it is written.
func TestMappingsOfNothing(t *testing.T) {
	e := NewEngine()
	for _, mapping := range []string{"", "null"} {
		out, err := e.Render(mappedInput(t, e, mapping))
		if value, found := out.Imports.Values["a"]; err != nil || !found || value != nil {
			t.Errorf("%q: got %v, %v", mapping, value, err)
		}
	}
}

// The cache stays within its limit, however many mappings there are.
func TestMappingsAreForgotten(t *testing.T) {
	e := NewEngine()
	e.mappings = lru.NewCache[*spiff.Template](40 << 10)
	for i := range 100 {
		if _, err := e.Render(mappedInput(t, e, fmt.Sprintf(`"(( %d ))"`, i))); err != nil {
			t.Fatal(err)
		}
	}
	if e.mappings.Len() == 0 || e.mappings.Len() > 10 {
		t.Errorf("%d are remembered", e.mappings.Len())
	}
}

// For any mapping: no panic, the same result from the cache, and unchanged bindings.
func FuzzMapping(f *testing.F) {
	for _, seed := range []string{`"(( a.b ))"`, `{"x": ["(( a ))", 1]}`, `{"<<": "(( a ))"}`, `"(( sum[[1]|0|s,e|->s + e] ))"`, `null`, `{`, `"(("`} {
		f.Add(seed)
	}
	e := NewEngine()
	evaluate := e.mapper("importDataMappings")
	f.Fuzz(func(t *testing.T, text string) {
		bindings := map[string]any{"a": map[string]any{"b": int64(1)}}
		first, err := evaluate(inline(text), bindings)
		second, again := evaluate(inline(text), bindings)
		if (err == nil) != (again == nil) || fmt.Sprint(first) != fmt.Sprint(second) {
			t.Errorf("first %v, %v, then %v, %v", first, err, second, again)
		}
		if fmt.Sprint(bindings) != "map[a:map[b:1]]" {
			t.Errorf("the bindings are %v now", bindings)
		}
	})
}
