// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"encoding/json"
	"reflect"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/component"
	"espalier.dev/internal/dataflow"
)

// curious is a blueprint whose templates pass on everything that they get, in both languages.
const curious = `
annotations: {odd: "yes"}
title: green
imports:
- {name: size, schema: {type: object}}
- {name: given, required: false, default: {value: {deep: [1]}}, schema: {type: object}}
- {name: mapped, schema: {type: object}}
- {name: cluster, targetType: kubernetes-cluster}
- {name: clusters, type: targetList, targetType: kubernetes-cluster}
importExecutions:
- {name: bind, type: Spiff, template: {bindings: {all: {b: (( blueprint )), c: (( componentDescriptorDef )), i: (( imports )), d: (( cd ))}}}}
deployExecutions:
- name: spiff
  type: Spiff
  template:
    state: (( &state(merge none // {"b"=blueprint, "before"=stub() || "none"}) ))
    deployItems: [{name: a, type: t, target: {import: cluster}, config: {apiVersion: v1, kind: C, i: (( imports )), b: (( blueprintDef )), c: (( components ))}, labels: {x: "y"}, dependsOn: []}]
- {name: go, type: GoTemplate, template: "state: {{ toJson .imports.size }}\ndeployItems: [{name: b, type: t, dependsOn: [a], config: {apiVersion: v1, kind: C, b: {{ toJson .blueprint }}}}]"}
subinstallations:
- {name: one, blueprint: {filesystem: {blueprint.yaml: "kind: Blueprint"}}, imports: {data: [{name: x, dataRef: size}], targets: [{name: "y", targets: [cluster]}]}, importDataMappings: {z: {a: [1]}}}
- {name: two, blueprint: {ref: cd://componentReferences/part/resources/blueprint}, exports: {data: [{name: x, dataRef: twoX}]}, exportDataMappings: {x: {a: [1]}}}
subinstallationExecutions:
- {name: more, type: Spiff, template: {subinstallations: [{name: three, blueprint: {filesystem: (( blueprintDef.inline.filesystem ))}}]}}
exports:
- {name: size, schema: {type: object}}
- {name: new, targetType: kubernetes-cluster}
exportExecutions:
- {name: first, type: Spiff, template: {exports: {size: (( values.deployitems.a )), new: {type: landscaper.gardener.cloud/kubernetes-cluster, config: (( values.deployitems.a ))}}}}
- {name: second, type: Spiff, template: {exports: {size: {more: (( imports.size ))}}}}
`

const curiousInstallation = `
metadata: {namespace: garden, name: tree}
spec:
  context: trusted
  verification: {signatureName: s}
  imports:
    data: [{name: size, dataRef: size}]
    targets: [{name: cluster, target: eu}, {name: clusters, targets: [eu, eu]}]
  importDataMappings: {mapped: {a: (( size )), b: {c: [1, 2]}}}
  exports:
    data: [{name: size, dataRef: out}]
    targets: [{name: new, target: out}]
  exportDataMappings: {size: {s: (( size )), b: {c: [1, 2]}}}
  componentDescriptor:
    inline:
      meta: {schemaVersion: v2}
      component:
        name: whole
        version: 1.0.0
        componentReferences:
        - name: part
          componentName: part
          version: 1.0.0
          labels: [{name: landscaper.gardener.cloud/component-descriptor, value: {meta: {schemaVersion: v2}, component: {name: part, version: 1.0.0, resources: [{name: blueprint, type: blueprint, version: 1.0.0, access: {type: none}}]}}}]
`

// curiousInput is an input whose every part could be shared with the results.
func curiousInput(t testing.TB, e *Engine) Input {
	t.Helper()
	inst := &lsv1alpha1.Installation{}
	if err := yaml.UnmarshalStrict([]byte(curiousInstallation), inst); err != nil {
		t.Fatal(err)
	}
	tree := treeOf(t, files(curious))
	inst.Spec.Blueprint.Inline = &lsv1alpha1.InlineBlueprint{Filesystem: tree}
	b, err := e.ParseInline(tree)
	if err != nil {
		t.Fatal(err)
	}
	set := setOf(t, string(inst.Spec.ComponentDescriptor.Inline.Raw))
	config := inline(`{"kubeconfig": {"a": [1]}}`)
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "garden", Name: name, Labels: map[string]string{"zone": "a"}}
	}
	return Input{
		Subject: Subject{
			Blueprint: b, Definition: inst.Spec.Blueprint, Component: inst.Spec.ComponentDescriptor, Components: set,
			States: States{dataflow.StateDeploy: {"spiff": {"state": map[string]any{"b": map[string]any{"old": []any{"x"}}}}}},
		},
		Installation: inst,
		Scope:        dataflow.Scope{Namespace: "garden"},
		Facts: dataflow.Facts{
			DataObjects: []*lsv1alpha1.DataObject{{ObjectMeta: meta("size"), Data: inline(`{"n": [1, {"m": 2}]}`)}},
			Targets: []*lsv1alpha1.Target{{
				ObjectMeta: meta("eu"),
				Spec:       lsv1alpha1.TargetSpec{Type: lsv1alpha1.TargetTypeKubernetesCluster, Configuration: &config},
			}},
		},
	}
}

func curiousValues() ExportValues {
	return ExportValues{DeployItems: map[string]any{"a": map[string]any{"x": []any{"y"}, "z": map[string]any{}}}}
}

// made is all results of an engine for an input.
type made struct {
	Output                   *Output
	Imported, Exported       dataflow.Objects
	Execution                *lsv1alpha1.Execution
	Nested                   []*lsv1alpha1.Installation
	Secrets                  map[string]map[string][]byte
	ExportStates             States
	ImportWarnings, Warnings []string
}

func makeAll(t testing.TB, e *Engine, in Input, values ExportValues) made {
	t.Helper()
	owner := dataflow.Owner{Namespace: "garden", Name: "tree", UID: "u"}
	check := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	out, err := e.Render(in)
	if err != nil {
		t.Fatal(err)
	}
	m := made{Output: out, Execution: out.Execution(in.Installation), ImportWarnings: out.Imports.Warnings}
	m.Imported, err = out.Imports.Objects(owner)
	check(err)
	for i := range out.Subinstallations {
		m.Nested = append(m.Nested, out.Subinstallations[i].Object(in.Installation))
	}
	m.Secrets, err = out.States.Secrets("tree")
	check(err)
	exports, states, err := e.Exports(in, values)
	if err != nil {
		t.Fatal(err)
	}
	m.ExportStates, m.Warnings = states, exports.Warnings
	m.Exported, err = exports.Objects(in.Scope, owner, nil)
	check(err)
	return m
}

func snapshot(t testing.TB, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// stateOf is everything in an input that can be serialised.
func stateOf(t testing.TB, in Input, values ExportValues) string {
	return snapshot(
		t,
		[]any{
			in.Installation,
			in.Facts,
			in.States,
			in.Definition,
			in.Component,
			in.Blueprint.Blueprint,
			in.Blueprint.Warnings,
			in.Components.View(component.SchemaV2),
			values,
		},
	)
}

// spoil modifies everything that can be reached from a value, as a careless caller might.
func spoil(v reflect.Value, seen map[any]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && !seen[v.Interface()] {
			seen[v.Interface()] = true
			spoil(v.Elem(), seen)
		}
	case reflect.Interface:
		if !v.IsNil() {
			spoil(v.Elem(), seen)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				spoil(v.Field(i), seen)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			spoil(v.Index(i), seen)
			if item := v.Index(i); item.CanSet() {
				item.SetZero()
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			spoil(v.MapIndex(key), seen)
			v.SetMapIndex(key, reflect.Value{})
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString("spoiled")
		}
	}
}

// Whatever a caller does to its results, the next one gets correct ones.
func TestCallersShareNothing(t *testing.T) {
	e := NewEngine()
	in, values := curiousInput(t, e), curiousValues()
	first := makeAll(t, e, in, values)
	want, before := snapshot(t, first), stateOf(t, in, values)
	if difference := cmp.Diff(map[string]int{
		"deploy items": 2,
		"nested":       3,
		"targets":      1,
	}, map[string]int{
		"deploy items": len(first.Output.DeployItems),
		"nested":       len(first.Nested),
		"targets":      len(first.Exported.Targets),
	}); difference != "" {
		t.Fatalf("the blueprint does not give what it should (-want +got):\n%s", difference)
	}
	if len(first.Output.Warnings) == 0 {
		t.Fatalf("the blueprint gives no warnings: %s", want)
	}
	// Imports refer to the Targets of the input, so that they need not be copied.
	for name, found := range first.Output.Resolved {
		found.Targets = nil
		first.Output.Resolved[name] = found
	}
	spoil(reflect.ValueOf(&first), map[any]bool{})
	if difference := cmp.Diff(before, stateOf(t, in, values)); difference != "" {
		t.Errorf("the input has changed: %s", difference)
	}
	if difference := cmp.Diff(want, snapshot(t, makeAll(t, e, in, values))); difference != "" {
		t.Errorf("the second output differs: %s", difference)
	}
	if difference := cmp.Diff(want, snapshot(t, makeAll(t, e, curiousInput(t, e), curiousValues()))); difference != "" {
		t.Errorf("the output for an equal input differs: %s", difference)
	}
}

// An engine does not keep references to its input either.
func TestCallersMayReuseTheirInput(t *testing.T) {
	e := NewEngine()
	in, values := curiousInput(t, e), curiousValues()
	want := snapshot(t, makeAll(t, e, in, values))
	spoil(reflect.ValueOf(in.Installation), map[any]bool{})
	spoil(reflect.ValueOf(&in.Facts), map[any]bool{})
	if difference := cmp.Diff(want, snapshot(t, makeAll(t, e, curiousInput(t, e), values))); difference != "" {
		t.Errorf("the output for an equal input differs: %s", difference)
	}
}

// Run it with -race. All workers share blueprint, components, facts and installation, as controllers do with the contents of
// their caches.
func TestOneEngineServesMany(t *testing.T) {
	e := NewEngine()
	in, values := curiousInput(t, e), curiousValues()
	want := snapshot(t, makeAll(t, NewEngine(), in, values))
	large := treeOf(t, largeFiles(5, 3))
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for range 5 {
				if difference := cmp.Diff(want, snapshot(t, makeAll(t, e, in, values))); difference != "" {
					t.Errorf("the output differs: %s", difference)
				}
				if out, err := e.Render(largeInput(t, e, large, 3)); err != nil || len(out.DeployItems) != 5 {
					t.Errorf("got %v, %v", out, err)
				}
			}
		})
	}
	workers.Wait()
}
