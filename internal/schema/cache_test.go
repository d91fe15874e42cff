// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"espalier.dev/internal/schema"
)

func compiled(t testing.TB, c *schema.Compiler, text string, s schema.Sources) *schema.Schema {
	t.Helper()
	result, err := c.Compile("x", []byte(text), s)
	if err != nil {
		t.Fatalf("compile %s: %v", text, err)
	}
	return result
}

func file(name, text string) schema.Sources {
	return schema.Sources{Files: fstest.MapFS{name: {Data: []byte(text)}}}
}

// resource has a schema in a component that refers to another one in the same component.
func resource(component, text string) schema.Sources {
	var find schema.Finder
	find = func(uri string) (schema.Resource, error) {
		content := text
		if uri == "cd://resources/outer" {
			content = `{"items":{"$ref":"cd://resources/inner"}}`
		}
		return schema.Resource{Content: []byte(content), Component: component, Resources: find}, nil
	}
	return schema.Sources{Component: "own", Resources: find}
}

func TestEqualContentIsCompiledOnce(t *testing.T) {
	local := func(text string) schema.Sources {
		return schema.Sources{LocalTypes: map[string][]byte{"a": []byte(text)}}
	}
	for name, c := range map[string]struct {
		text         string
		one, another schema.Sources
		same         bool
	}{
		"the same":                             {`{"type":"string"}`, schema.Sources{}, schema.Sources{}, true},
		"files without a reference to them":    {`{"type":"string"}`, file("a", `{}`), file("b", `{}`), true},
		"another draft":                        {`{"type":"string"}`, schema.Sources{}, schema.Sources{Draft: "http://json-schema.org/draft-07/schema#"}, false},
		"equal local types":                    {`{"$ref":"local://a"}`, local(`{}`), local(`{}`), true},
		"different local types":                {`{"$ref":"local://a"}`, local(`{}`), local(`true`), false},
		"equal files":                          {`{"$ref":"blueprint://a"}`, file("a", `{}`), file("a", `{}`), true},
		"different files":                      {`{"$ref":"blueprint://a"}`, file("a", `{}`), file("a", `true`), false},
		"equal resources":                      {`{"$ref":"cd://resources/outer"}`, resource("c:1", `{}`), resource("c:1", `{}`), true},
		"different resources of resources":     {`{"$ref":"cd://resources/outer"}`, resource("c:1", `{}`), resource("c:1", `true`), false},
		"equal resources of another component": {`{"$ref":"cd://resources/outer"}`, resource("c:1", `{}`), resource("c:2", `{}`), false},
	} {
		t.Run(name, func(t *testing.T) {
			compiler := newCompiler()
			first := compiled(t, compiler, c.text, c.one)
			second := compiled(t, compiler, c.text, c.another)
			if (first == second) != c.same {
				t.Errorf("the same schema: %t, want %t", first == second, c.same)
			}
			if compiled(t, compiler, c.text, c.one) != first || compiled(t, compiler, c.text, c.another) != second {
				t.Error("one of the two was forgotten while the other was used")
			}
		})
	}
}

func TestAFileThatDisappearsIsAnError(t *testing.T) {
	compiler := newCompiler()
	compiled(t, compiler, `{"$ref":"blueprint://a"}`, file("a", `{}`))
	if _, err := compiler.Compile("x", []byte(`{"$ref":"blueprint://a"}`), file("b", `{}`)); err == nil {
		t.Error("a schema whose file is gone came out of the cache")
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	text := func(i int) string { return fmt.Sprintf(`{"title":"%d %s"}`, i, strings.Repeat("x", 1000)) }
	compiler := schema.NewCompiler(schema.DefaultLimits(), 16_000)
	first := compiled(t, compiler, text(0), schema.Sources{})
	for i := 1; i < 100; i++ {
		last := compiled(t, compiler, text(i), schema.Sources{})
		if compiled(t, compiler, text(i), schema.Sources{}) != last {
			t.Fatalf("schema %d was forgotten at once", i)
		}
		if i < 50 && compiled(t, compiler, text(0), schema.Sources{}) != first {
			t.Fatalf("the first schema was forgotten after %d others although it was in use", i)
		}
	}
	if compiled(t, compiler, text(0), schema.Sources{}) == first {
		t.Error("the first schema is remembered after 50 others, which do not fit beside it")
	}
}

func TestVariantsOfOneSchemaAreBounded(t *testing.T) {
	compiler := newCompiler()
	version := func(i int) schema.Sources { return file("a", fmt.Sprintf(`{"title":"%d"}`, i)) }
	const ref = `{"$ref":"blueprint://a"}`
	first, last := compiled(t, compiler, ref, version(0)), compiled(t, compiler, ref, version(1))
	for i := 2; i < 40; i++ {
		last = compiled(t, compiler, ref, version(i))
	}
	if compiled(t, compiler, ref, version(39)) != last {
		t.Error("the last version was forgotten")
	}
	if compiled(t, compiler, ref, version(0)) == first {
		t.Error("all versions are remembered: a lookup compares with each of them")
	}
}

func TestASchemaThatDoesNotFitIsNotRemembered(t *testing.T) {
	compiler := schema.NewCompiler(schema.DefaultLimits(), 100)
	first := compiled(t, compiler, `{}`, schema.Sources{})
	if compiled(t, compiler, `{}`, schema.Sources{}) == first {
		t.Error("a cache of 100 bytes remembers a schema")
	}
}

func TestConcurrentUse(t *testing.T) {
	compiler := newCompiler()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for round := range 20 {
				text := fmt.Sprintf(`{"type":"string","anyOf":[{"minLength":%d}]}`, round%5)
				if err := compiler.Validate("x", []byte(text), sources(), "abcdefg"); err != nil {
					t.Errorf("worker %d: %v", i, err)
				}
				if err := compiler.Validate("x", []byte(text), sources(), 1.0); err == nil {
					t.Errorf("worker %d: a number passed", i)
				}
			}
		})
	}
	all.Wait()
}

// twenty returns schemas of realistic size, as the imports of one installation.
func twenty() (texts []string, values []any) {
	for i := range 20 {
		texts = append(texts, fmt.Sprintf(`{"type":"object","title":"%d","required":["name","replicas"],"properties":{
			"name":{"type":"string","pattern":"^[a-z-]+$"},"replicas":{"type":"integer","minimum":1},
			"ports":{"type":"array","items":{"$ref":"#/$defs/port"}},"labels":{"type":"object","additionalProperties":{"type":"string"}}},
			"$defs":{"port":{"type":"object","properties":{"name":{"type":"string"},"port":{"type":"integer","maximum":65535}}}}}`, i))
		values = append(values, map[string]any{
			"name": "server", "replicas": 3.0, "labels": map[string]any{"a": "b", "c": "d"},
			"ports": []any{map[string]any{"name": "http", "port": 80.0}, map[string]any{"name": "grpc", "port": 81.0}},
		})
	}
	return texts, values
}

func BenchmarkValidateTwentyImports(b *testing.B) {
	texts, values := twenty()
	validate := func(compiler *schema.Compiler) {
		for i, text := range texts {
			if err := compiler.Validate("x", []byte(text), schema.Sources{}, values[i]); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			validate(newCompiler())
		}
	})
	b.Run("again", func(b *testing.B) {
		b.ReportAllocs()
		compiler := newCompiler()
		validate(compiler)
		for b.Loop() {
			validate(compiler)
		}
	})
}
