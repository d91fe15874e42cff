// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte("{apiVersion: v1, kind: Thing, " + text + "}"))
	if err != nil {
		t.Fatal(err)
	}
	result := &unstructured.Unstructured{}
	if err := result.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return result
}

// Custom resources are stored as sent.
func TestSatisfiesLeavesCustomResourcesAlone(t *testing.T) {
	live := object(t, `spec: {resources: {limits: {cpu: "1"}}}`)
	desired := object(t, `spec: {resources: {limits: {cpu: 1000m}}}`)
	for _, o := range []*unstructured.Unstructured{live, desired} {
		o.SetAPIVersion("shop.example.com/v1")
	}
	if Satisfies(live, desired) {
		t.Error("a change of a custom resource was taken for another form of the same quantity")
	}
}

func TestSatisfies(t *testing.T) {
	for name, c := range map[string]struct {
		live, desired string
		want          bool
	}{
		"the same":                                 {"data: {a: b}", "data: {a: b}", true},
		"a value differs":                          {"data: {a: b}", "data: {a: c}", false},
		"a field is missing":                       {"data: {}", "data: {a: b}", false},
		"a field was added":                        {"data: {a: b, c: d}", "data: {a: b}", true},
		"an object instead of a value":             {"data: {a: {b: c}}", "data: {a: b}", false},
		"a value instead of an object":             {"data: x", "data: {a: b}", false},
		"null asks for nothing":                    {"data: {a: b}", "data: {a: null}", true},
		"an empty object that is not there":        {"spec: {}", "spec: {a: {}, b: [], c: null}", true},
		"an empty object that was filled":          {"spec: {a: {b: c}}", "spec: {a: {}}", true},
		"false and zero are left out":              {"spec: {}", "spec: {a: false, b: 0}", true},
		"false is not true":                        {"spec: {a: true}", "spec: {a: false}", false},
		"an empty string counts":                   {"data: {}", "data: {a: ''}", false},
		"a shorter list":                           {"spec: {args: [a]}", "spec: {args: [a, b]}", false},
		"a longer list":                            {"spec: {args: [a, b]}", "spec: {args: [a]}", false},
		"another order":                            {"spec: {args: [a, b]}", "spec: {args: [b, a]}", false},
		"elements that were completed":             {"spec: {ports: [{port: 1, protocol: TCP}]}", "spec: {ports: [{port: 1}]}", true},
		"named elements that were added":           {"spec: {list: [{name: x}, {name: a, more: 1}]}", "spec: {list: [{name: a}]}", true},
		"a named element that is missing":          {"spec: {list: [{name: x}]}", "spec: {list: [{name: a}]}", false},
		"a named element that differs":             {"spec: {list: [{name: a, v: 1}]}", "spec: {list: [{name: a, v: 2}]}", false},
		"names that occur twice":                   {"spec: {list: [{name: a, v: 1}, {name: a, v: 2}]}", "spec: {list: [{name: a, v: 2}, {name: a, v: 1}]}", false},
		"finalizers of others":                     {"metadata: {finalizers: [x, a]}", "metadata: {finalizers: [a]}", true},
		"a finalizer that is missing":              {"metadata: {finalizers: [x]}", "metadata: {finalizers: [a]}", false},
		"a number as another type":                 {"spec: {a: 1}", "spec: {a: 1.0}", true},
		"quantities":                               {`spec: {resources: {limits: {cpu: "1", memory: 1Gi}}}`, "spec: {resources: {limits: {cpu: 1000m, memory: 1024Mi}}}", true},
		"a quantity as a number":                   {`spec: {resources: {requests: {cpu: "1"}}}`, "spec: {resources: {requests: {cpu: 1}}}", true},
		"quantities that differ":                   {`spec: {resources: {limits: {cpu: "1"}}}`, "spec: {resources: {limits: {cpu: 1001m}}}", false},
		"quantities of a LimitRange":               {`spec: {limits: [{max: {cpu: "1"}}]}`, "spec: {limits: [{max: {cpu: 1000m}}]}", true},
		"data named min, max and default":          {`data: {min: "1"}`, `data: {min: 1000m}`, false},
		"a field of another kind named max":        {`spec: {max: "1"}`, `spec: {max: 1000m}`, false},
		"a field of another kind named limits":     {`spec: {limits: {cpu: "1"}}`, `spec: {limits: {cpu: 1000m}}`, false},
		"what only looks like a quantity":          {`data: {a: "1"}`, `data: {a: "1.0"}`, false},
		"a quantity where there is something else": {`spec: {resources: {limits: {cpu: {}}}}`, "spec: {resources: {limits: {cpu: 1}}}", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Satisfies(object(t, c.live), object(t, c.desired)); got != c.want {
				t.Errorf("Satisfies = %v, want %v", got, c.want)
			}
		})
	}
}

func TestFieldsHash(t *testing.T) {
	before := FieldsHash(object(t, "data: {a: secret, list: [{name: x, v: 1}]}"))
	for text, same := range map[string]bool{
		"data: {a: other, list: [{name: x, v: 2}]}":          true,
		"data: {list: [{name: x, v: 1}]}":                    false,
		"data: {a: secret, list: [{name: y, v: 1}]}":         false,
		"data: {a: secret, list: [{name: x}]}":               false,
		"data: {a: secret, list: [{name: x, v: 1}, {v: 1}]}": false,
		"data: {a: {list: [{name: x, v: 1}]}}":               false,
	} {
		if got := FieldsHash(object(t, text)) == before; got != same {
			t.Errorf("%s: same = %v", text, got)
		}
	}
}

func TestMerging(t *testing.T) {
	live := object(t, "spec: {a: live, list: [1, 2], empty: {}, deep: {x: live}}")
	desired := object(t, "spec: {a: new, b: new, list: [3], empty: {y: new}, deep: {x: new, z: new}, nothing: null}")
	merged := withMissing(live.DeepCopy().Object, desired.Object)
	if diff := cmp.Diff(object(t, "spec: {a: live, b: new, list: [1, 2], empty: {y: new}, deep: {x: live, z: new}}").Object, merged); diff != "" {
		t.Errorf("merge: %s", diff)
	}
	over := comparisonOf(desired).overwritten(live.DeepCopy().Object, desired.Object, nil)
	if diff := cmp.Diff(object(t, "spec: {a: new, b: new, list: [3], empty: {y: new}, deep: {x: new, z: new}}").Object, over); diff != "" {
		t.Errorf("mergeOverwrite: %s", diff)
	}
	if diff := cmp.Diff(object(t, "spec: {a: live, list: [1, 2], empty: {}, deep: {x: live}}").Object, live.Object); diff != "" {
		t.Errorf("the object itself was changed: %s", diff)
	}
}
