// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"fmt"
	"testing"

	"espalier.dev/internal/template"
)

// benchTemplate writes a deploy item for every entry of a list of the imports.
const benchTemplate = `
{{- define "labels" }}
app: {{ .name }}
tier: {{ .tier | default "backend" | quote }}
{{- end }}
deployItems:
{{- range $i, $item := .imports.items }}
- name: {{ $item.name }}
  type: landscaper.gardener.cloud/kubernetes-manifest
  target:
    import: cluster
  {{- if gt $i 0 }}
  dependsOn:
  - {{ (index $.imports.items 0).name }}
  {{- end }}
  config:
    apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
    kind: ProviderConfiguration
    manifests:
    - policy: manage
      manifest:
        apiVersion: v1
        kind: ConfigMap
        metadata:
          name: {{ printf "%s-%s" $.imports.prefix $item.name | trunc 63 }}
          namespace: {{ $.imports.namespace }}
          labels:
            {{- include "labels" $item | nindent 12 }}
        data:
          replicas: {{ $item.replicas | quote }}
          config: |
            {{- toYaml $item.config | nindent 12 }}
{{- end }}
`

// benchBindings has 50 items and 20 imports.
func benchBindings() map[string]any {
	var items []any
	for i := range 50 {
		items = append(items, map[string]any{
			"name":     fmt.Sprintf("item-%d", i),
			"replicas": float64(i),
			"config":   map[string]any{"a": float64(i), "b": []any{"x", "y"}, "c": map[string]any{"d": "e"}},
		})
	}
	imports := map[string]any{"items": items, "prefix": "p", "namespace": "n", "cluster": map[string]any{"spec": map[string]any{"type": "t"}}}
	for i := len(imports); i < 20; i++ {
		imports[fmt.Sprintf("import-%d", i)] = map[string]any{"a": "b", "c": []any{1.0, 2.0, 3.0}}
	}
	return map[string]any{"imports": imports}
}

func TestBenchTemplateRenders(t *testing.T) {
	value, err := compile(t, benchTemplate).RenderYAML(Input{Bindings: benchBindings()})
	if err != nil {
		t.Fatal(err)
	}
	if items := value.(map[string]any)["deployItems"].([]any); len(items) != 50 {
		t.Errorf("there are %d deploy items", len(items))
	}
}

// Rendering does not parse: the needed functions are bound, and the tree is shared.
func TestRenderingDoesNotParse(t *testing.T) {
	text := "{{ if false }}" + fmt.Sprintf("%100000s", "{{ .a }}{{ upper .b }}") + "{{ end }}"
	small, large := compile(t, "x"), compile(t, text)
	cost := func(compiled *Template) float64 {
		return testing.AllocsPerRun(20, func() {
			if _, err := compiled.Render(Input{}); err != nil {
				t.Fatal(err)
			}
		})
	}
	if a, b := cost(small), cost(large); b > 2*a {
		t.Errorf("rendering a large template takes %.0f allocations, a small one %.0f", b, a)
	}
}

func BenchmarkRender(b *testing.B) {
	compiled := compile(b, benchTemplate)
	input := Input{Bindings: benchBindings()}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := compiled.Render(input); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRenderYAML(b *testing.B) {
	compiled := compile(b, benchTemplate)
	input := Input{Bindings: benchBindings()}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := compiled.RenderYAML(input); err != nil {
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
