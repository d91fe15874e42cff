// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
)

const (
	namespace = "garden"
	job       = "job-2"
)

var (
	root   = dataflow.Scope{Namespace: namespace}
	nested = dataflow.Scope{Namespace: namespace, Parent: "tree", JobID: job}
)

// parse reads YAML into a type of the API, the way users write it.
func parse[T any](t testing.TB, text string) T {
	t.Helper()
	var result T
	if err := yaml.UnmarshalStrict([]byte(text), &result); err != nil {
		t.Fatalf("parse %s: %v", text, err)
	}
	return result
}

func imports(t testing.TB, text string) lsv1alpha1.InstallationImports {
	t.Helper()
	return parse[lsv1alpha1.InstallationImports](t, text)
}

func exports(t testing.TB, text string) lsv1alpha1.InstallationExports {
	t.Helper()
	return parse[lsv1alpha1.InstallationExports](t, text)
}

func anyJSON(t testing.TB, text string) lsv1alpha1.AnyJSON {
	t.Helper()
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return lsv1alpha1.AnyJSON{Raw: encoded}
}

// dataObject is an object that somebody created by hand.
func dataObject(t testing.TB, name, value string) *lsv1alpha1.DataObject {
	t.Helper()
	return &lsv1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Data: anyJSON(t, value)}
}

// labelled adds labels of the data flow to an object; names have no prefix.
func labelled[T metav1.Object](object T, pairs ...string) T {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	for i := 0; i < len(pairs); i += 2 {
		labels["data.landscaper.gardener.cloud/"+pairs[i]] = pairs[i+1]
	}
	object.SetLabels(labels)
	return object
}

// cluster is a Target of a cluster with its own configuration.
func cluster(t testing.TB, name string) *lsv1alpha1.Target {
	t.Helper()
	config := anyJSON(t, `{"kubeconfig":"of `+name+`"}`)
	return &lsv1alpha1.Target{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec:       lsv1alpha1.TargetSpec{Type: lsv1alpha1.TargetTypeKubernetesCluster, Configuration: &config},
	}
}

// inScope renames an object to what a reference means in the scope of "tree", and marks it as belonging to the current job.
func inScope[T metav1.Object](object T, reference string) T {
	object.SetName(nested.ObjectName(reference))
	return labelled(object, "context", "Inst.tree", "key", reference, "jobid", job)
}

// element makes a target an element of a list or map that "tree" imports.
func element(target *lsv1alpha1.Target, name, label, place string) *lsv1alpha1.Target {
	target.Name = nested.ObjectName(dataflow.KeyedReference(name, place))
	return labelled(target, "context", "Inst.tree", "key", name, "sourceType", "import", label, place, "jobid", job)
}

func resolve(t testing.TB, scope dataflow.Scope, given string, facts dataflow.Facts) dataflow.Resolved {
	t.Helper()
	resolved, err := dataflow.Resolve(scope, imports(t, given), facts)
	if err != nil {
		t.Fatalf("resolve: %v", err)
	}
	return resolved
}

// definitions reads the imports of a blueprint.
func definitions(t testing.TB, text string) []lsv1alpha1.ImportDefinition {
	t.Helper()
	return parse[[]lsv1alpha1.ImportDefinition](t, text)
}

// mapping reads mappings, one per key.
func mapping(t testing.TB, text string) map[string]lsv1alpha1.AnyJSON {
	t.Helper()
	return parse[map[string]lsv1alpha1.AnyJSON](t, text)
}

// paths is a mapper for tests. It knows one expression: (( a.b )) is the value at that path of the bindings.
func paths(template lsv1alpha1.AnyJSON, bindings map[string]any) (any, error) {
	var tree any
	if err := template.Decode(&tree); err != nil {
		return nil, errors.New("the mapping is no JSON")
	}
	return replaced(tree, bindings)
}

func replaced(template any, bindings map[string]any) (any, error) {
	switch v := template.(type) {
	case map[string]any:
		result := map[string]any{}
		for key, inner := range v {
			value, err := replaced(inner, bindings)
			if err != nil {
				return nil, err
			}
			result[key] = value
		}
		return result, nil
	case []any:
		result := []any{}
		for _, inner := range v {
			value, err := replaced(inner, bindings)
			if err != nil {
				return nil, err
			}
			result = append(result, value)
		}
		return result, nil
	case string:
		return atPath(v, bindings)
	}
	return template, nil
}

func atPath(text string, bindings map[string]any) (any, error) {
	path, ok := strings.CutPrefix(text, "(( ")
	if !ok {
		return text, nil
	}
	var current any = bindings
	for step := range strings.SplitSeq(strings.TrimSuffix(path, " ))"), ".") {
		object, _ := current.(map[string]any)
		next, ok := object[step]
		if !ok {
			return nil, fmt.Errorf("%q not found", path)
		}
		current = next
	}
	return current, nil
}

// types is a validator for tests. It knows one keyword: type.
func types(what string, schema lsv1alpha1.AnyJSON, value any) error {
	var decoded struct{ Type string }
	if err := schema.Decode(&decoded); err != nil {
		return err
	}
	if decoded.Type == "unavailable" {
		return errors.New("registry is down")
	}
	found := "other"
	switch value.(type) {
	case string:
		found = "string"
	case int64:
		found = "integer"
	case map[string]any:
		found = "object"
	case nil:
		found = "null"
	}
	if decoded.Type == "" || decoded.Type == found {
		return nil
	}
	return failure.Terminalf(
		failure.Details{Reason: "SchemaValidationFailed"},
		"the value of %s: expected %s, found %s",
		what,
		decoded.Type,
		found,
	)
}

func asJSON(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// expectYAML compares a value with the expected YAML.
func expectYAML(t testing.TB, what string, got any, want string) {
	t.Helper()
	var expected, found any
	if err := yaml.Unmarshal([]byte(want), &expected); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(asJSON(t, got)), &found); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(expected, found); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func expectError(t testing.TB, err error, kind failure.Kind, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", want)
	}
	if failure.KindOf(err) != kind {
		t.Errorf("%v is %v, want %v", err, failure.KindOf(err), kind)
	}
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error = %v\nwant %s", err, part)
		}
	}
	details := failure.DetailsOf(err)
	if details.Reason == "" || kind != failure.Waiting && details.Operation == "" {
		t.Errorf("%v has no operation or reason: %+v", err, details)
	}
}
