// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/config/crd"
)

// stateValues are values of the chart of kube-state-metrics, with the fields that we use.
type stateValues struct {
	RBAC struct {
		ExtraRules []struct{ APIGroups, Resources, Verbs []string }
	}
	CustomResourceState struct {
		Enabled bool
		Config  struct {
			Kind string
			Spec struct{ Resources []stateResource }
		}
	}
}

type stateResource struct {
	GroupVersionKind struct{ Group, Version, Kind string }
	MetricNamePrefix string
	LabelsFromPath   map[string][]string
	Metrics          []stateMetric
}

type stateMetric struct {
	Name, Help     string
	LabelsFromPath map[string][]string
	Each           struct {
		Type string
		Info struct {
			Path           []string
			LabelFromKey   string
			LabelsFromPath map[string][]string
		}
	}
}

// ourLabels are those of objects that labels of metrics are taken from.
var ourLabels = []string{lsv1alpha1.EncompassedByLabel, lsv1alpha1.ExecutionManagedByLabel}

func readStateValues(t *testing.T) stateValues {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "contrib", "kube-state-metrics", "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values stateValues
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// kube-state-metrics omits a label whose path leads nowhere, so nobody would notice a typo.
func TestMetricsOfKubeStateMetricsHavePathsThatExist(t *testing.T) {
	values := readStateValues(t)
	config := values.CustomResourceState.Config
	if !values.CustomResourceState.Enabled || config.Kind != "CustomResourceStateMetrics" || len(config.Spec.Resources) == 0 {
		t.Fatalf("nothing is configured: %+v", values.CustomResourceState)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "observability.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range config.Spec.Resources {
		definition, schema := definitionOf(t, resource)
		if !mayWatch(values, definition.Spec.Group, definition.Spec.Names.Plural) {
			t.Errorf("extraRules do not permit to list and watch %s", definition.Name)
		}
		checkLabels(t, resource.GroupVersionKind.Kind, schema, resource.LabelsFromPath)
		for _, metric := range resource.Metrics {
			name := resource.MetricNamePrefix + "_" + metric.Name
			if !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("docs/observability.md does not list %s", name)
			}
			checkMetric(t, name, schema, metric)
		}
	}
}

func definitionOf(t *testing.T, r stateResource) (*apiextensionsv1.CustomResourceDefinition, *apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	all, err := crd.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, definition := range all {
		if definition.Spec.Group != r.GroupVersionKind.Group || definition.Spec.Names.Kind != r.GroupVersionKind.Kind {
			continue
		}
		for _, version := range definition.Spec.Versions {
			if version.Name == r.GroupVersionKind.Version && version.Served {
				return definition, version.Schema.OpenAPIV3Schema
			}
		}
	}
	t.Fatalf("no CRD serves %+v", r.GroupVersionKind)
	return nil, nil
}

func mayWatch(values stateValues, group, plural string) bool {
	for _, rule := range values.RBAC.ExtraRules {
		if slices.Contains(rule.APIGroups, group) && slices.Contains(rule.Resources, plural) {
			return slices.Contains(rule.Verbs, "list") && slices.Contains(rule.Verbs, "watch")
		}
	}
	return false
}

func checkMetric(t *testing.T, name string, schema *apiextensionsv1.JSONSchemaProps, metric stateMetric) {
	t.Helper()
	info := metric.Each.Info
	if metric.Each.Type != "Info" || !strings.HasSuffix(metric.Name, "_info") || metric.Help == "" {
		t.Errorf("%s is not complete: %+v", name, metric)
	}
	if len(info.LabelsFromPath) == 0 {
		t.Errorf("%s has no labels of its own, so kube-state-metrics drops it", name)
	}
	checkLabels(t, name, schema, metric.LabelsFromPath)
	from, err := follow(schema, info.Path)
	switch {
	case err != nil:
		t.Errorf("%s: %v", name, err)
		return
	case info.LabelFromKey != "":
		if from.AdditionalProperties == nil {
			t.Errorf("%s: %s has no keys to take %s from", name, info.Path, info.LabelFromKey)
			return
		}
		from = from.AdditionalProperties.Schema
	}
	checkLabels(t, name, from, info.LabelsFromPath)
}

func checkLabels(t *testing.T, what string, schema *apiextensionsv1.JSONSchemaProps, labels map[string][]string) {
	t.Helper()
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		if err := checkPath(schema, labels[label]); err != nil {
			t.Errorf("%s, label %s: %v", what, label, err)
		}
	}
}

// checkPath returns an error unless a path leads to a single value.
func checkPath(schema *apiextensionsv1.JSONSchemaProps, path []string) error {
	if path[0] == "metadata" {
		known := len(path) == 2 && slices.Contains([]string{"namespace", "name"}, path[1])
		if !known && !(len(path) == 3 && path[1] == "labels" && slices.Contains(ourLabels, path[2])) {
			return fmt.Errorf("%s is not in the metadata of our objects", path)
		}
		return nil
	}
	found, err := follow(schema, path)
	if err == nil && !slices.Contains([]string{"string", "boolean", "integer"}, found.Type) {
		err = fmt.Errorf("%s is of type %s, not a single value", path, found.Type)
	}
	return err
}

// follow returns the schema at the end of a path. A part such as [type=Ready] selects an item of a list by a field.
func follow(schema *apiextensionsv1.JSONSchemaProps, path []string) (*apiextensionsv1.JSONSchemaProps, error) {
	for i, part := range path {
		name := part
		if selector, isSelector := strings.CutPrefix(part, "["); isSelector {
			if schema.Items == nil {
				return nil, fmt.Errorf("%s is not a list", path[:i])
			}
			schema = schema.Items.Schema
			name, _, _ = strings.Cut(selector, "=")
			if _, found := schema.Properties[name]; !found {
				return nil, fmt.Errorf("items of %s have no field %s", path[:i], name)
			}
			continue
		}
		next, found := schema.Properties[name]
		if !found {
			return nil, fmt.Errorf("%s has no field %s", path[:i], name)
		}
		schema = &next
	}
	return schema, nil
}

func TestPathsThatLeadNowhereAreFound(t *testing.T) {
	resource := stateResource{}
	resource.GroupVersionKind.Group, resource.GroupVersionKind.Version = lsv1alpha1.GroupName, "v1alpha1"
	resource.GroupVersionKind.Kind = "Installation"
	_, schema := definitionOf(t, resource)
	for path, want := range map[string]string{
		"status/phases":                         "[status] has no field phases",
		"status/phase/name":                     "[status phase] has no field name",
		"status/conditions/[kind=Ready]/status": "items of [status conditions] have no field kind",
		"status/[type=Ready]/status":            "[status] is not a list",
		"status/conditions/[type=Ready]/state":  "has no field state",
		"status/conditions":                     "of type array",
		"spec/componentDescriptor":              "of type object",
		"metadata/label":                        "not in the metadata",
		"metadata/labels/team":                  "not in the metadata",
	} {
		if err := checkPath(schema, strings.Split(path, "/")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", path, want, err)
		}
	}
}
