// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// strict makes the API server refuse fields that it would otherwise prune.
const strict = client.FieldValidation(metav1.FieldValidationStrict)

// The objects in testdata/accepted are of the kind that users have today.
func TestTodaysObjectsAreKeptAsTheyAre(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	for _, object := range objects(t, filepath.Join("testdata", "accepted", "*.yaml")) {
		t.Run(object.GetKind()+"/"+object.GetName(), func(t *testing.T) {
			object.SetNamespace(namespace)
			created := object.DeepCopy()
			if err := server.Client().Create(t.Context(), created, strict); err != nil {
				t.Fatal(err)
			}
			status, hasStatus := object.Object["status"].(map[string]any)
			if hasStatus {
				created.Object["status"] = status
				if err := server.Client().Status().Update(t.Context(), created, strict); err != nil {
					t.Fatal(err)
				}
			}
			checkContains(t, object.Object, created.Object, "")
		})
	}
}

// The objects above say something only about the properties that they have, so together they must have all.
func TestAcceptedObjectsHaveEveryKnownProperty(t *testing.T) {
	seen := map[string]map[string]bool{}
	for _, object := range objects(t, filepath.Join("testdata", "accepted", "*.yaml")) {
		if seen[object.GetKind()] == nil {
			seen[object.GetKind()] = map[string]bool{}
		}
		markProperties(object.Object, "", seen[object.GetKind()])
	}
	for plural, reference := range references(t) {
		for path := range properties(reference) {
			if !seen[reference.Spec.Names.Kind][path] {
				t.Errorf("%s: no object has %s", plural, path)
			}
		}
	}
}

// objects reads all objects in the files that a pattern matches.
func objects(t *testing.T, pattern string) []*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files match %s: %v", len(files), pattern, err)
	}
	var found []*unstructured.Unstructured
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, parse(t, text)...)
	}
	return found
}

func parse(t *testing.T, text []byte) []*unstructured.Unstructured {
	t.Helper()
	var found []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text))
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, object)
	}
}

// checkContains reports what the second value lacks of the first.
func checkContains(t *testing.T, want, got any, path string) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		content, _ := got.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(want)) {
			value, exists := content[key]
			if !exists {
				t.Errorf("%s is gone", child(path, key))
				continue
			}
			checkContains(t, want[key], value, child(path, key))
		}
	case []any:
		content, _ := got.([]any)
		if len(content) != len(want) {
			t.Fatalf("%s has %d elements, want %d", path, len(content), len(want))
		}
		for i := range want {
			checkContains(t, want[i], content[i], path+"[]")
		}
	default:
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%s became %#v, want %#v", path, got, want)
		}
	}
}

// markProperties notes the paths of all properties of a value, in the notation of nodes. Since it does not know which
// objects are maps, it notes both notations.
func markProperties(value any, path string, seen map[string]bool) {
	switch value := value.(type) {
	case map[string]any:
		for key, content := range value {
			seen[child(path, key)] = true
			markProperties(content, child(path, key), seen)
			markProperties(content, path+"{}", seen)
		}
	case []any:
		for _, content := range value {
			markProperties(content, path+"[]", seen)
		}
	}
}
