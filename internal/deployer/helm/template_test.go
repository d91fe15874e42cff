// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv1alpha1 "espalier.dev/api/deployer/helm/v1alpha1"
	manifestapi "espalier.dev/api/deployer/manifest/v1alpha2"
	"espalier.dev/internal/deployer/objects/cluster"
)

func TestATemplateIsAppliedChangedAndDeleted(t *testing.T) {
	w := newWorld(t)
	w.use(twoConfigMaps + `
-- templates/note.txt --
some text, which is YAML and no object
-- templates/NOTES.txt --
for: people
-- templates/kept.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, annotations: {helm.sh/resource-policy: keep}}
data: {key: kept}
-- templates/hooks.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: hook, annotations: {helm.sh/hook: "pre-install,pre-delete"}}, data: {key: hook}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: test, annotations: {helm.sh/hook: test}}, data: {key: test}}
`)
	w.succeed("{helmDeployment: false, values: {key: first}}")
	if diff := cmp.Diff([]string{"hook=hook", "kept=kept", "one=first", "two=second"}, w.content()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"ConfigMap/hook", "ConfigMap/kept", "ConfigMap/one", "ConfigMap/two"}, w.managed()); diff != "" {
		t.Error(diff)
	}
	for _, label := range []string{manifestapi.ManagedDeployItemLabel, helmv1alpha1.ManagedDeployItemLabel} {
		for _, name := range []string{"one", "two", "kept", "hook"} {
			if got := w.configMap(name).Labels[label]; got != "item" {
				t.Errorf("%s: the label %s is %q", name, label, got)
			}
		}
	}
	if diff := cmp.Diff([]string{}, w.history("shop")); diff != "" {
		t.Errorf("there is a release: %s", diff)
	}
	seen := 0
	w.writes(&seen)
	w.restart()
	w.succeed("{helmDeployment: false, values: {key: first}}")
	if got := w.writes(&seen); len(got) > 0 {
		t.Errorf("an unchanged item wrote %v", got)
	}
	w.use(oneConfigMap)
	w.succeed("{helmDeployment: false, updateStrategy: patch, values: {key: other}}")
	if diff := cmp.Diff([]string{"kept=kept", "one=other"}, w.content()); diff != "" {
		t.Error(diff)
	}
	w.delete()
	if diff := cmp.Diff([]string{"kept=kept"}, w.content()); diff != "" {
		t.Error(diff)
	}
}

const listsOfConfigMaps = `
-- templates/list.yaml --
apiVersion: v1
kind: ConfigMapList
items:
- {metadata: {name: one}, data: {key: a}}
- {metadata: {name: two}, data: {key: b}}
---
{apiVersion: v1, kind: ConfigMapList, items: []}
---
{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: three}, data: {key: c}}]}
`

func TestListsAreTakenApart(t *testing.T) {
	for mode, managed := range map[string][]string{"true": {}, "false": {"ConfigMap/one", "ConfigMap/three", "ConfigMap/two"}} {
		t.Run("helmDeployment "+mode, func(t *testing.T) {
			w := newWorld(t)
			w.use(listsOfConfigMaps)
			w.succeed("helmDeployment: " + mode)
			if diff := cmp.Diff([]string{"one=a", "three=c", "two=b"}, w.content()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(managed, w.managed()); diff != "" {
				t.Error(diff)
			}
			w.delete()
			if diff := cmp.Diff([]string{}, w.content()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSubchartsFollowTheirCondition(t *testing.T) {
	const parent = oneConfigMap + `
-- Chart.yaml --
apiVersion: v2
name: shop
version: 1.0.0
dependencies: [{name: inner, version: 0.1.0, condition: inner.enabled}]
-- charts/inner/Chart.yaml --
apiVersion: v2
name: inner
version: 0.1.0
-- charts/inner/templates/inner.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: inner}, data: {key: "{{ .Values.word }}"}}
`
	for _, mode := range []string{"true", "false"} {
		t.Run("helmDeployment "+mode, func(t *testing.T) {
			w := newWorld(t)
			w.use(parent)
			w.succeed("{helmDeployment: " + mode + ", values: {inner: {enabled: true, word: hello}}}")
			if diff := cmp.Diff([]string{"inner=hello", "one=default"}, w.content()); diff != "" {
				t.Error(diff)
			}
			w.succeed("{helmDeployment: " + mode + ", values: {inner: {enabled: false}}}")
			if diff := cmp.Diff([]string{"one=default"}, w.content()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func withDefinition(group string) string {
	return `
-- crds/gates.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gates.` + group + `}
spec:
  group: ` + group + `
  scope: Namespaced
  names: {plural: gates, singular: gate, kind: Gate, listKind: GateList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
-- templates/gate.yaml --
{apiVersion: ` + group + `/v1, kind: Gate, metadata: {name: north}, spec: {open: true}}
`
}

// The CRD comes before its objects. Helm leaves it behind; without Helm, it is an object like any other.
func TestDefinitionsComeFirst(t *testing.T) {
	for _, mode := range []string{"true", "false"} {
		t.Run("helmDeployment "+mode, func(t *testing.T) {
			w := newWorld(t)
			group := w.namespace + ".example"
			w.use(withDefinition(group))
			w.succeed("helmDeployment: " + mode)
			gate := &unstructured.Unstructured{}
			gate.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Gate"})
			if !w.read("north", gate) {
				t.Error("the object is missing")
			}
			w.delete()
			definition := &apiextensionsv1.CustomResourceDefinition{}
			err := w.server.Client().Get(t.Context(), client.ObjectKey{Name: "gates." + group}, definition)
			if kept := err == nil && definition.DeletionTimestamp == nil; kept != (mode == "true") {
				t.Errorf("the definition is kept: %v (%v)", kept, err)
			}
		})
	}
}

func TestLookupFindsWhatIsInTheTarget(t *testing.T) {
	for _, mode := range []string{"true", "false"} {
		t.Run("helmDeployment "+mode, func(t *testing.T) {
			w := newWorld(t)
			there := &corev1.ConfigMap{Data: map[string]string{"key": "found"}}
			there.Namespace, there.Name = w.namespace, "there"
			if err := w.server.Client().Create(t.Context(), there); err != nil {
				t.Fatal(err)
			}
			w.use(`
-- templates/one.yaml --
{{- $there := lookup "v1" "ConfigMap" .Release.Namespace "there" }}
{{- $nowhere := lookup "v1" "ConfigMap" .Release.Namespace "nowhere" }}
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
data:
  key: "{{ $there.data.key }}{{ if not $nowhere }} and not{{ end }}"
`)
			w.succeed("helmDeployment: " + mode)
			if diff := cmp.Diff([]string{"one=found and not", "there=found"}, w.content()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Both modes see the version and the kinds of the target.
func TestCapabilitiesAreThoseOfTheTarget(t *testing.T) {
	for _, mode := range []string{"true", "false"} {
		t.Run("helmDeployment "+mode, func(t *testing.T) {
			w := newWorld(t)
			w.use(`
-- templates/one.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
data:
  key: "{{ .Capabilities.KubeVersion.Version }} {{ .Capabilities.APIVersions.Has "landscaper.gardener.cloud/v1alpha1/DeployItem" }}"
`)
			w.succeed("{helmDeployment: " + mode + ", exports: {exports: [{key: version, jsonPath: .Capabilities.KubeVersion.Version}]}}")
			version := w.version()
			if diff := cmp.Diff([]string{"one=" + version + " true"}, w.content()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAChartForAnotherVersionIsRejected(t *testing.T) {
	for mode, reason := range map[string]string{"true": "installRelease", "false": "RenderChart"} {
		t.Run("helmDeployment "+mode, func(t *testing.T) {
			w := newWorld(t)
			w.use(oneConfigMap + `
-- Chart.yaml --
apiVersion: v2
name: shop
version: 1.0.0
kubeVersion: "< 1.2.0"
`)
			_, err := w.deploy("helmDeployment: " + mode)
			assertFailure(t, err, failed{
				reason: reason, terminal: true, codes: []string{"ERR_CONFIGURATION_PROBLEM"}, contains: []string{"kubeVersion < 1.2.0", w.version()},
			})
			if diff := cmp.Diff([]string{}, w.content()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDeletionGroupsOfATemplate(t *testing.T) {
	w := newWorld(t)
	group := w.namespace + ".example"
	w.use(oneConfigMap + withDefinition(group))
	w.succeed("{helmDeployment: false, deletionGroups: [{customResourceGroup: {resources: [{apiVersion: " + group + "/v1, kind: Gate}]}}]}")
	w.delete()
	gate := &unstructured.Unstructured{}
	gate.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Gate"})
	if err := w.server.Client().Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "north"}, gate); !apierrors.IsNotFound(err) {
		t.Errorf("the gate is there: %v", err)
	}
	if diff := cmp.Diff([]string{"one=default"}, w.content()); diff != "" {
		t.Error(diff)
	}
}

const withClusterRole = `
-- templates/role.yaml --
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "{{ .Release.Namespace }}"}, rules: []}
`

// left lists the remaining objects of a chart with all sorts of objects, whose kind is in a group.
func (w *world) left(group string) []string {
	w.t.Helper()
	result := w.content()
	for name, kind := range map[string]schema.GroupVersionKind{
		"gates." + group: {Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		"north":          {Group: group, Version: "v1", Kind: "Gate"},
		w.namespace:      {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
	} {
		live, key := &unstructured.Unstructured{}, client.ObjectKey{Name: name}
		live.SetGroupVersionKind(kind)
		if kind.Group == group {
			key.Namespace = w.namespace
		}
		err := w.server.Client().Get(w.t.Context(), key, live)
		switch {
		case err == nil:
			result = append(result, kind.Kind)
		case !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err):
			w.t.Fatal(err)
		}
	}
	slices.Sort(result)
	return result
}

// Each group removes the item's objects that it selects, and leaves the rest.
func TestWhatADeletionGroupOfATemplateTakes(t *testing.T) {
	const maps = "customResourceGroup: {resources: [{apiVersion: v1, kind: ConfigMap"
	for group, taken := range map[string][]string{
		"predefinedResourceGroup: {type: namespaced-resources}":                               {"Gate", "one=default", "two=second"},
		"predefinedResourceGroup: {type: cluster-scoped-resources}":                           {"ClusterRole"},
		"predefinedResourceGroup: {type: crds}":                                               {"CustomResourceDefinition", "Gate"},
		"predefinedResourceGroup: {type: empty}":                                              {},
		maps + "}]}":                                                                          {"one=default", "two=second"},
		maps + ", names: [two, theirs]}]}":                                                    {"two=second"},
		maps + ", namespaces: [NAMESPACE]}]}":                                                 {"one=default", "two=second"},
		maps + ", namespaces: [elsewhere]}]}":                                                 {},
		maps + ", namespaces: [NAMESPACE], names: [one]}]}":                                   {"one=default"},
		maps + ", namespaces: [NAMESPACE], names: [one, theirs]}], deleteAllResources: true}": {"one=default", "theirs=x"},
	} {
		t.Run(group, func(t *testing.T) {
			w := newWorld(t)
			kinds := w.namespace + ".example"
			chart, there := twoConfigMaps+withClusterRole, []string{"ClusterRole", "one=default", "theirs=x", "two=second"}
			if strings.HasPrefix(group, "predefined") {
				chart += withDefinition(kinds)
				there = append([]string{"ClusterRole", "CustomResourceDefinition", "Gate"}, there[1:]...)
			}
			w.use(chart)
			w.succeed("{helmDeployment: false, deletionGroups: [{" + group + "}]}")
			w.foreign("theirs", map[string]string{"key": "x"})
			if diff := cmp.Diff(there, w.left(kinds)); diff != "" {
				t.Fatal(diff)
			}
			w.delete()
			there = slices.DeleteFunc(there, func(name string) bool { return slices.Contains(taken, name) })
			if diff := cmp.Diff(there, w.left(kinds)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A group starts when nothing of the previous one is left.
func TestDeletionGroupsOfATemplateAreAnOrder(t *testing.T) {
	w := newWorld(t)
	w.use(twoConfigMaps + "\n-- templates/one.yaml --\n" + heldConfigMap)
	w.succeed("{helmDeployment: false, deletionGroups: [" +
		"{customResourceGroup: {resources: [{apiVersion: v1, kind: ConfigMap, names: [one]}]}}, " +
		"{predefinedResourceGroup: {type: namespaced-resources}}]}")
	w.beginDelete()
	w.waits(cluster.WaitingForDeletion, "ConfigMap "+w.namespace+"/one")
	if two := w.configMap("two"); two == nil || two.DeletionTimestamp != nil {
		t.Errorf("the second group has begun: %+v", two)
	}
	if _, err := w.goOnAfter(func() { w.release("one") }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{}, w.content()); diff != "" {
		t.Error(diff)
	}
}

func TestDeletionGroupsDuringAnUpdateOfATemplate(t *testing.T) {
	w := newWorld(t)
	w.use(twoConfigMaps)
	w.succeed("helmDeployment: false")
	w.use(oneConfigMap)
	w.succeed("{helmDeployment: false, deletionGroupsDuringUpdate: [{predefinedResourceGroup: {type: empty}}]}")
	if diff := cmp.Diff([]string{"one=default", "two=second"}, w.content()); diff != "" {
		t.Error(diff)
	}
	if got := w.managed(); !slices.Contains(got, "ConfigMap/two") {
		t.Errorf("what was left is forgotten: %v", got)
	}
	w.delete()
	if diff := cmp.Diff([]string{}, w.content()); diff != "" {
		t.Error(diff)
	}
}
