// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	manifest "espalier.dev/api/deployer/manifest/v1alpha2"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// sketch is what rules understand of a workload's blueprint, whose templates are YAML with expressions in strings.
type sketch struct {
	Subinstallations []struct {
		Name      string `json:"name"`
		Blueprint struct {
			Filesystem any `json:"filesystem"`
		} `json:"blueprint"`
	} `json:"subinstallations"`
	DeployExecutions []struct {
		Template string `json:"template"`
	} `json:"deployExecutions"`
}

// sketchedItem is a deploy item of a blueprint before it is rendered.
type sketchedItem struct {
	Name   string `json:"name"`
	Config any    `json:"config"`
}

// sketchOf reads the blueprint of an installation. Unreadable parts request nothing.
func sketchOf(installation *object) (s sketch) {
	files, _ := filesOf(installation).(map[string]any)
	text, _ := files[lsv1alpha1.BlueprintFileName].(string)
	_ = yaml.Unmarshal([]byte(text), &s)
	return s
}

func filesOf(installation *object) any {
	files, _, _ := unstructured.NestedFieldNoCopy(installation.raw.Object, "spec", "blueprint", "inline", "filesystem")
	return files
}

func (s sketch) items() []sketchedItem {
	var all []sketchedItem
	for _, execution := range s.DeployExecutions {
		var rendered struct {
			DeployItems []sketchedItem `json:"deployItems"`
		}
		_ = yaml.Unmarshal([]byte(execution.Template), &rendered)
		all = append(all, rendered.DeployItems...)
	}
	return all
}

func templatesOf(execution *object) []lsv1alpha1.DeployItemTemplate {
	spec := typed[lsv1alpha1.Execution](execution).Spec
	templates, err := spec.Items()
	if err != nil {
		return nil
	}
	return templates
}

func jsonOf(raw []byte) (value any) {
	decode(raw, &value)
	return value
}

// contentsOf returns the data of the objects in a deploy item of the manifest deployer.
func contentsOf(item *object) map[testkit.ObjectID]any {
	spec := typed[lsv1alpha1.DeployItem](item).Spec
	var config manifest.ProviderConfiguration
	if spec.Type != lsv1alpha1.DeployItemTypeManifest || spec.Configuration == nil || !decode(spec.Configuration.Raw, &config) {
		return nil
	}
	contents := map[testkit.ObjectID]any{}
	for _, wanted := range config.Manifests {
		var object map[string]any
		if id, ok := idOf(wanted.Manifest.Raw); ok && decode(wanted.Manifest.Raw, &object) {
			contents[id] = object["data"]
		}
	}
	return contents
}

// resembles reports whether a value can be rendered from a template. A string with an expression in it may become anything.
func resembles(template, value any) bool {
	switch wanted := template.(type) {
	case string:
		return strings.Contains(wanted, "{{") || reflect.DeepEqual(template, value)
	case []any:
		got, _ := value.([]any)
		return len(got) == len(wanted) && holdsForAll(len(wanted), func(i int) bool { return resembles(wanted[i], got[i]) })
	case map[string]any:
		got, _ := value.(map[string]any)
		keys := slices.Collect(maps.Keys(wanted))
		return len(got) == len(wanted) && holdsForAll(len(keys), func(i int) bool { return resembles(wanted[keys[i]], got[keys[i]]) })
	default:
		return reflect.DeepEqual(template, value)
	}
}

func holdsForAll(count int, holds func(int) bool) bool {
	for i := range count {
		if !holds(i) {
			return false
		}
	}
	return true
}
