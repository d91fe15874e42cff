// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit/helmcharts"
	"espalier.dev/test/faults/invariant"
)

// blueprint is a sketch from which the text of a blueprint is generated. All data are strings; strings may contain Go templates.
type blueprint struct {
	imports []string          // of data
	exports map[string]string // of data, by name: a template over .values
	items   []any
	subs    []any
	// generates reports whether the deploy items are written in Spiff and can refer to a password, which is generated and kept in the state.
	generates bool
	// alone says that not even the target is imported.
	alone bool
}

// text returns the file blueprint.yaml. Blueprints import the target, unless they are alone.
func (b blueprint) text() string {
	var imports []any
	if !b.alone {
		imports = append(imports, map[string]any{"name": targetName, "type": "target", "targetType": lsv1alpha1.TargetTypeKubernetesCluster})
	}
	for _, name := range b.imports {
		imports = append(imports, map[string]any{"name": name, "type": "data", "schema": map[string]any{"type": "string"}})
	}
	content := map[string]any{"apiVersion": lsv1alpha1.SchemeGroupVersion.String(), "kind": "Blueprint", "imports": imports}
	switch {
	case b.generates:
		content["deployExecutions"] = []any{map[string]any{"name": executionName, "type": "Spiff", "template": toYAML(map[string]any{
			"password": `(( &state("generated-" rand("0-9a-f", 40)) ))`, "deployItems": b.items,
		})}}
	case b.items != nil:
		content["deployExecutions"] = template(map[string]any{"deployItems": b.items})
	}
	if b.subs != nil {
		content["subinstallations"] = b.subs
	}
	if b.exports != nil {
		var exports []any
		for _, name := range slices.Sorted(maps.Keys(b.exports)) {
			exports = append(exports, map[string]any{"name": name, "type": "data", "schema": map[string]any{"type": "string"}})
		}
		content["exports"] = exports
		content["exportExecutions"] = template(map[string]any{"exports": b.exports})
	}
	return toYAML(content)
}

const executionName = "default"

func template(result any) []any {
	return []any{map[string]any{"name": executionName, "type": "GoTemplate", "template": toYAML(result)}}
}

func toYAML(content any) string {
	text, err := yaml.Marshal(content)
	if err != nil {
		panic(fmt.Sprintf("a blueprint of the test cannot be written: %v", err))
	}
	return string(text)
}

// ofItem returns the template of a value that a deploy item of the same blueprint exports.
func ofItem(item, key string) string {
	return fmt.Sprintf(`{{ index .values "deployitems" %q %q }}`, item, key)
}

// ofSub returns the template of a value that a nested installation exports.
func ofSub(dataRef string) string {
	return fmt.Sprintf(`{{ index .values "dataobjects" %q }}`, dataRef)
}

// wiring maps the imports and exports of a nested installation to data objects.
type wiring struct{ imports, exports map[string]string }

// sub returns a nested installation.
func sub(name string, b blueprint, w wiring) any {
	content := map[string]any{
		"apiVersion": lsv1alpha1.SchemeGroupVersion.String(), "kind": "InstallationTemplate", "name": name,
		"blueprint": map[string]any{"filesystem": map[string]any{"blueprint.yaml": b.text()}},
		"imports": map[string]any{
			"targets": []any{map[string]any{"name": targetName, "target": targetName}},
			"data":    references(w.imports),
		},
	}
	if w.exports != nil {
		content["exports"] = map[string]any{"data": references(w.exports)}
	}
	return content
}

func references(byName map[string]string) []any {
	list := []any{}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		list = append(list, map[string]any{"name": name, "dataRef": byName[name]})
	}
	return list
}

// mockItem returns a deploy item that ends in the given phase with the given exports.
func mockItem(name, phase string, exports map[string]any, dependsOn ...string) any {
	config := map[string]any{
		"apiVersion": "mock.deployer.landscaper.gardener.cloud/v1alpha1",
		"kind":       "ProviderConfiguration",
		"phase":      phase,
	}
	if exports != nil {
		config["export"] = exports
	}
	return item(name, lsv1alpha1.DeployItemTypeMock, config, dependsOn)
}

const succeeds = string(lsv1alpha1.PhaseSucceeded)

// orphanType is a type without a deployer: such a deploy item runs until somebody ends it.
const orphanType = "faults.espalier.dev/nobody"

func endlessItem(name string) any {
	return item(name, orphanType, map[string]any{"apiVersion": "faults.espalier.dev/v1", "kind": "ProviderConfiguration"}, nil)
}

// manifestItem returns a deploy item that applies config maps, each with the given value.
func manifestItem(name, namespace, value string, configMaps ...string) any {
	var manifests []any
	for _, configMap := range configMaps {
		manifests = append(manifests, map[string]any{"policy": "manage", "manifest": map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": configMap, "namespace": namespace, "labels": map[string]any{invariant.DeployedLabel: "yes"}},
			"data":     map[string]any{"value": value},
		}})
	}
	return item(name, lsv1alpha1.DeployItemTypeManifest, map[string]any{
		"apiVersion": "manifest.deployer.landscaper.gardener.cloud/v1alpha2", "kind": "ProviderConfiguration",
		"updateStrategy": "update", "manifests": manifests,
	}, nil)
}

// chartItem returns a deploy item that installs a release with its own name, with config maps that each have the given value.
func chartItem(t testing.TB, name, namespace, value string, configMaps ...string) any {
	t.Helper()
	chart := helmcharts.Pack(t, map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: pot\nversion: 1.0.0\n",
		"templates/all.yaml": `{{ range .Values.configMaps }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ . }}"}
data: {value: "{{ $.Values.value }}"}
{{ end }}`,
	})
	return item(name, lsv1alpha1.DeployItemTypeHelm, map[string]any{
		"apiVersion": "helm.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderConfiguration",
		"name": name, "namespace": namespace, "chart": map[string]any{"archive": map[string]any{"raw": chart}},
		"values": map[string]any{"value": value, "configMaps": configMaps},
	}, nil)
}

func item(name string, kind lsv1alpha1.DeployItemType, config map[string]any, dependsOn []string) any {
	content := map[string]any{"name": name, "type": kind, "config": config}
	if kind == lsv1alpha1.DeployItemTypeManifest || kind == lsv1alpha1.DeployItemTypeHelm {
		content["target"] = map[string]any{"import": targetName}
	}
	if len(dependsOn) > 0 {
		content["dependsOn"] = dependsOn
	}
	return content
}
