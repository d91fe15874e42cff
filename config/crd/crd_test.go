// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"espalier.dev/config/crd"
)

func TestAllReturnsEveryKindOnce(t *testing.T) {
	var names []string
	for _, definition := range all(t) {
		names = append(names, definition.Name)
	}
	want := []string{
		"referencegrants.espalier.dev",
		"gitopsclusters.gitops.weave.works",
		"componentversionoverwrites.landscaper.gardener.cloud",
		"contexts.landscaper.gardener.cloud",
		"dataobjects.landscaper.gardener.cloud",
		"deployitems.landscaper.gardener.cloud",
		"executions.landscaper.gardener.cloud",
		"installations.landscaper.gardener.cloud",
		"targets.landscaper.gardener.cloud",
		"targetsyncs.landscaper.gardener.cloud",
		"pipelines.pipelines.weave.works",
	}
	if !slices.Equal(names, want) {
		t.Errorf("All() returned\n%q, want\n%q", names, want)
	}
}

func TestAllReturnsCopies(t *testing.T) {
	all(t)[0].Name = "changed"
	if name := all(t)[0].Name; name == "changed" {
		t.Error("a change to what All() returned shows in the next call")
	}
}

// GitopsCluster belongs to somebody else; kubectl get espalier lists our own kinds.
func TestOwnKindsAreInTheCategory(t *testing.T) {
	for _, definition := range all(t) {
		own := definition.Spec.Group != "gitops.weave.works"
		if got := slices.Contains(definition.Spec.Names.Categories, "espalier"); got != own {
			t.Errorf("%s: in category espalier: %t, want %t", definition.Name, got, own)
		}
	}
}

// kubectl get shows whether an object is ready, and why not, wherever that is known.
func TestReadyIsAColumn(t *testing.T) {
	for _, definition := range all(t) {
		for _, version := range definition.Spec.Versions {
			if _, ready := version.Schema.OpenAPIV3Schema.Properties["status"].Properties["conditions"]; !ready {
				continue
			}
			for _, field := range []string{"status", "message"} {
				path := `.status.conditions[?(@.type=="Ready")].` + field
				if !slices.ContainsFunc(version.AdditionalPrinterColumns, func(c apiextensionsv1.CustomResourceColumnDefinition) bool {
					return c.JSONPath == path && c.Priority == 0
				}) {
					t.Errorf("%s: no column shows %s", definition.Name, path)
				}
			}
		}
	}
}

func TestEveryPropertyIsExplained(t *testing.T) {
	for _, definition := range all(t) {
		for path, property := range properties(definition) {
			// The API server explains metadata itself and drops what a CRD says about it.
			if property.Description == "" && path != "metadata" {
				t.Errorf("%s: %s has no description: kubectl explain would say nothing", definition.Spec.Names.Plural, path)
			}
		}
	}
}

func TestEveryRuleSaysWhatToDo(t *testing.T) {
	for _, definition := range all(t) {
		root := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
		for path, node := range nodes(root) {
			for _, rule := range node.XValidations {
				if rule.Message == "" {
					t.Errorf("%s: the rule %q at %q has no message", definition.Spec.Names.Plural, rule.Rule, path)
				}
			}
		}
	}
}

func all(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	definitions, err := crd.All()
	if err != nil {
		t.Fatal(err)
	}
	return definitions
}

// definition returns the definition with a plural name.
func definition(t *testing.T, plural string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	for _, definition := range all(t) {
		if definition.Spec.Names.Plural == plural {
			return definition
		}
	}
	t.Fatalf("there is no definition of %s", plural)
	return nil
}

// properties returns all properties of a kind, by path.
func properties(definition *apiextensionsv1.CustomResourceDefinition) map[string]apiextensionsv1.JSONSchemaProps {
	found := map[string]apiextensionsv1.JSONSchemaProps{}
	for path, node := range nodes(definition.Spec.Versions[0].Schema.OpenAPIV3Schema) {
		for name, property := range node.Properties {
			found[child(path, name)] = property
		}
	}
	return found
}

// nodes returns a schema and all schemas in it, by path. The path of the schema itself is empty.
func nodes(schema *apiextensionsv1.JSONSchemaProps) map[string]*apiextensionsv1.JSONSchemaProps {
	found := map[string]*apiextensionsv1.JSONSchemaProps{}
	collect(schema, "", found)
	return found
}

func collect(schema *apiextensionsv1.JSONSchemaProps, path string, found map[string]*apiextensionsv1.JSONSchemaProps) {
	found[path] = schema
	for name := range schema.Properties {
		property := schema.Properties[name]
		collect(&property, child(path, name), found)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		collect(schema.Items.Schema, path+"[]", found)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		collect(schema.AdditionalProperties.Schema, path+"{}", found)
	}
}

func child(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
