// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"fmt"
	"testing"

	"github.com/mandelsoft/spiff/spiffing"

	"espalier.dev/internal/template"
)

// benchTemplate creates a deploy item for every entry of a list of the imports.
const benchTemplate = `
itemLabels:
  <<: (( &temporary &template ))
  app: (( item.name ))
  tier: (( item.tier || "backend" ))
deployItem:
  <<: (( &temporary &template ))
  name: (( item.name ))
  type: landscaper.gardener.cloud/kubernetes-manifest
  target:
    import: cluster
  config:
    apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
    kind: ProviderConfiguration
    manifests:
    - policy: manage
      manifest:
        apiVersion: v1
        kind: ConfigMap
        metadata:
          name: (( imports.prefix "-" item.name ))
          namespace: (( imports.namespace ))
          labels: (( *itemLabels ))
        data:
          replicas: (( string(item.replicas) ))
          config: (( asjson(item.config) ))
deployItems: (( map[imports.items|item|->*deployItem] ))
`

// benchBindings has 50 items and 20 imports.
func benchBindings() map[string]any {
	var items []any
	for i := range 50 {
		items = append(items, map[string]any{
			"name":     fmt.Sprintf("item-%d", i),
			"replicas": int64(i),
			"config":   map[string]any{"a": int64(i), "b": []any{"x", "y"}, "c": map[string]any{"d": "e"}},
		})
	}
	imports := map[string]any{"items": items, "prefix": "p", "namespace": "n", "cluster": map[string]any{"spec": map[string]any{"type": "t"}}}
	for i := len(imports); i < 20; i++ {
		imports[fmt.Sprintf("import-%d", i)] = map[string]any{"a": "b", "c": []any{int64(1), int64(2), int64(3)}}
	}
	return map[string]any{"imports": imports}
}

func TestBenchTemplateEvaluates(t *testing.T) {
	result, err := mustCompile(t, benchTemplate).Evaluate(Input{Bindings: benchBindings()})
	if err != nil {
		t.Fatal(err)
	}
	if items := result.Value.(map[string]any)["deployItems"].([]any); len(items) != 50 {
		t.Errorf("there are %d deploy items", len(items))
	}
}

func BenchmarkEvaluate(b *testing.B) {
	compiled := mustCompile(b, benchTemplate)
	input := Input{Bindings: benchBindings()}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := compiled.Evaluate(input); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMapping(b *testing.B) {
	compiled, err := CompileTree(template.Source{}, map[string]any{
		"name":   "(( imports.prefix \"-x\" ))",
		"config": "(( imports.import-5 ))",
	}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	input := Input{Bindings: benchBindings()}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := compiled.Evaluate(input); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMappingWithoutExpressions(b *testing.B) {
	compiled, err := CompileTree(template.Source{}, map[string]any{"name": "x", "config": []any{"a", 1.0}}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := compiled.Evaluate(Input{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(template.Source{Text: benchTemplate}, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOriginal evaluates the same template with the original engine, for comparison.
func BenchmarkOriginal(b *testing.B) {
	engine, err := spiffing.Plain().WithValues(benchBindings())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		node, err := engine.Unmarshal("t", []byte(benchTemplate))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := engine.Cascade(node, nil); err != nil {
			b.Fatal(err)
		}
	}
}
