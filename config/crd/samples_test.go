// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"espalier.dev/api"
	landscaper "espalier.dev/api/landscaper/v1alpha1"
)

// That the API server accepts the samples, and that they run, is tested in test/e2e.
func TestSamplesFitTheGoTypes(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, object := range objects(t, filepath.Join("..", "samples", "*.yaml")) {
		if typed, err := scheme.New(object.GroupVersionKind()); err == nil {
			t.Run(object.GetKind()+"/"+object.GetName(), func(t *testing.T) { decodeStrictly(t, object.Object, typed) })
		}
	}
}

// The blueprints in the samples are text, which the API server does not look into.
func TestBlueprintsInSamplesFitTheGoTypes(t *testing.T) {
	count := 0
	for _, object := range objects(t, filepath.Join("..", "samples", "*.yaml")) {
		files, _, err := unstructured.NestedMap(object.Object, "spec", "blueprint", "inline", "filesystem")
		if err != nil {
			t.Fatal(err)
		}
		for name, content := range files {
			text, _ := content.(string)
			if !strings.Contains(text, "\nkind: Blueprint\n") && !strings.Contains(text, "\nkind: InstallationTemplate\n") {
				continue // a template
			}
			count++
			t.Run(object.GetName()+"/"+name, func(t *testing.T) { checkBlueprintFile(t, text) })
		}
	}
	if count < 8 {
		t.Errorf("found %d files only", count)
	}
}

func checkBlueprintFile(t *testing.T, text string) {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	var typed any = &landscaper.Blueprint{}
	if content["kind"] == "InstallationTemplate" {
		typed = &landscaper.InstallationTemplate{}
	}
	decodeStrictly(t, content, typed)
}

func decodeStrictly(t *testing.T, content map[string]any, typed any) {
	t.Helper()
	text, err := yaml.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, typed); err != nil {
		t.Error(err)
	}
}
