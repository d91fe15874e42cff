// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
)

// largeFiles is a blueprint with many deploy items and imports, half of the items in each language.
func largeFiles(items, imports int) Files {
	var text strings.Builder
	text.WriteString("imports:\n")
	for i := range imports {
		fmt.Fprintf(
			&text,
			"- {name: import%d, schema: {type: object, required: [host], properties: {host: {type: string}, port: {type: integer}}}}\n",
			i,
		)
	}
	text.WriteString("deployExecutions:\n- {name: go, type: GoTemplate, file: go.yaml}\n- {name: spiff, type: Spiff, file: spiff.yaml}\n")
	var inGo, inSpiff strings.Builder
	inGo.WriteString("deployItems:\n")
	inSpiff.WriteString("deployItems:\n")
	for i := range items {
		name := fmt.Sprintf("import%d", i%imports)
		if i < items/2 {
			fmt.Fprintf(
				&inGo,
				"- name: item%d\n  type: landscaper.gardener.cloud/mock\n  config: {apiVersion: v1, kind: C, address: '{{ .imports.%s.host }}:{{ .imports.%s.port }}', all: {{ toJson .imports.%s }}}\n",
				i,
				name,
				name,
				name,
			)
			continue
		}
		fmt.Fprintf(
			&inSpiff,
			"- name: item%d\n  type: landscaper.gardener.cloud/mock\n  config:\n    apiVersion: v1\n    kind: C\n    address: (( imports.%s.host \":\" imports.%s.port ))\n    all: (( imports.%s ))\n",
			i,
			name,
			name,
			name,
		)
	}
	return Files{"blueprint.yaml": []byte(text.String()), "go.yaml": []byte(inGo.String()), "spiff.yaml": []byte(inSpiff.String())}
}

// largeInput is an installation of such a blueprint, which the engine parses or takes from its cache.
func largeInput(t testing.TB, e *Engine, tree lsv1alpha1.AnyJSON, imports int) Input {
	b, err := e.ParseInline(tree)
	if err != nil {
		t.Fatal(err)
	}
	inst := &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "large"}}
	inst.Spec.Blueprint.Inline = &lsv1alpha1.InlineBlueprint{Filesystem: tree}
	var facts dataflow.Facts
	for i := range imports {
		name := fmt.Sprintf("import%d", i)
		inst.Spec.Imports.Data = append(inst.Spec.Imports.Data, lsv1alpha1.DataImport{Name: name, DataRef: name})
		facts.DataObjects = append(facts.DataObjects, &lsv1alpha1.DataObject{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Data:       lsv1alpha1.AnyJSON{Raw: fmt.Appendf(nil, `{"host": "h%d", "port": %d}`, i, 8000+i)},
		})
	}
	return Input{
		Subject:      Subject{Blueprint: b, Definition: inst.Spec.Blueprint},
		Installation: inst, Scope: dataflow.Scope{Namespace: "default"}, Facts: facts,
	}
}

const benchItems, benchImports = 50, 20

// mapAll makes an installation compute all imports of its blueprint.
func mapAll(in Input) Input {
	mappings := map[string]lsv1alpha1.AnyJSON{}
	for _, data := range in.Installation.Spec.Imports.Data {
		mappings[data.Name] = lsv1alpha1.AnyJSON{
			Raw: fmt.Appendf(nil, `{"host": "(( \"%%s.\" %s.host ))", "port": "(( %s.port + 1 ))"}`, data.Name, data.Name),
		}
	}
	in.Installation.Spec.ImportDataMappings = mappings
	return in
}

// BenchmarkRender renders 50 deploy items from 20 imports: with a blueprint in the cache, with mappings of all imports, and
// with a blueprint that is not cached.
func BenchmarkRender(b *testing.B) {
	tree := treeOf(b, largeFiles(benchItems, benchImports))
	renderInput := func(b *testing.B, e *Engine, in Input) {
		out, err := e.Render(in)
		if err != nil || len(out.DeployItems) != benchItems {
			b.Fatal(err)
		}
	}
	render := func(b *testing.B, e *Engine) { renderInput(b, e, largeInput(b, e, tree, benchImports)) }
	mapped := func(b *testing.B, e *Engine) { renderInput(b, e, mapAll(largeInput(b, e, tree, benchImports))) }
	known := func(render func(*testing.B, *Engine)) func(*testing.B) {
		return func(b *testing.B) {
			e := NewEngine()
			render(b, e)
			b.ReportAllocs()
			for b.Loop() {
				render(b, e)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "renders/s")
		}
	}
	b.Run("known", known(render))
	b.Run("mapped", known(mapped))
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			render(b, NewEngine())
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "renders/s")
	})
	b.Run("ratio", func(b *testing.B) {
		var first, second time.Duration
		for b.Loop() {
			e := NewEngine()
			begin := time.Now()
			render(b, e)
			middle := time.Now()
			render(b, e)
			first += middle.Sub(begin)
			second += time.Since(middle)
		}
		b.ReportMetric(float64(first)/float64(second), "first/second")
	})
}
