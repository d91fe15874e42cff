// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/testkit"
)

const (
	heldOne  = `{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: NAMESPACE, finalizers: [example.com/hold]}}`
	secret   = `{apiVersion: v1, kind: Secret, metadata: {name: secret, namespace: NAMESPACE}}`
	roleHead = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: NAMESPACE}}`
)

func (w *world) clusterRole() bool {
	w.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("rbac.authorization.k8s.io/v1")
	list.SetKind("ClusterRoleList")
	if err := w.Client().List(w.Context(), list); err != nil {
		w.Fatal(err)
	}
	return slices.ContainsFunc(list.Items, func(item unstructured.Unstructured) bool { return item.GetName() == w.Namespace })
}

func TestDeletionWaitsForFinalizersAndNamesThem(t *testing.T) {
	w := newWorld(t)
	w.succeed(these(heldOne, roleHead))
	w.beginDelete()
	progress, err := w.pass()
	if err != nil || progress.Done || progress.Waiting.Code != cluster.WaitingForDeletion {
		t.Fatalf("%+v, %v", progress, err)
	}
	if !strings.Contains(progress.Waiting.Message, "ConfigMap "+w.Namespace+"/one") ||
		!strings.Contains(progress.Waiting.Message, "example.com/hold") {
		t.Errorf("the message is %q", progress.Waiting.Message)
	}
	if !w.clusterRole() {
		t.Error("the next group was begun before this one was gone")
	}
	held := w.configMap("one")
	w.endsAfter(func() { w.change(held, func() { held.Finalizers = nil }) })
	if w.configMap("one") != nil || w.clusterRole() {
		t.Error("something is left")
	}
}

func TestForceDelete(t *testing.T) {
	for name, groups := range map[string]string{
		"predefined": "deletionGroups: [{predefinedResourceGroup: {type: namespaced-resources, forceDelete: true}}]\n",
		"custom":     "deletionGroups: [{customResourceGroup: {forceDelete: true, resources: [{apiVersion: v1, kind: ConfigMap}]}}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.succeed(groups + these(heldOne))
			w.delete()
			if w.configMap("one") != nil {
				t.Error("it is still there")
			}
		})
	}
}

func TestDeletionGroups(t *testing.T) {
	for name, c := range map[string]struct {
		groups string
		left   []string
	}{
		"none given":       {"", nil},
		"empty":            {"deletionGroups: [{predefinedResourceGroup: {type: empty}}]\n", []string{"one", "role", "secret", "two"}},
		"cluster-scoped":   {"deletionGroups: [{predefinedResourceGroup: {type: cluster-scoped-resources}}]\n", []string{"one", "secret", "two"}},
		"a kind":           {"deletionGroups: [{customResourceGroup: {resources: [{apiVersion: v1, kind: ConfigMap}]}}]\n", []string{"role", "secret"}},
		"a name":           {"deletionGroups: [{customResourceGroup: {resources: [{apiVersion: v1, kind: ConfigMap, names: [two]}]}}]\n", []string{"one", "role", "secret"}},
		"a namespace":      {"deletionGroups: [{customResourceGroup: {resources: [{apiVersion: v1, kind: ConfigMap, namespaces: [elsewhere]}]}}]\n", []string{"one", "role", "secret", "two"}},
		"another spelling": {"deletionGroups: [{customResourceGroup: {resources: [{apiVersion: v1, kind: configmaps}]}}]\n", []string{"one", "role", "secret", "two"}},
		"all of a kind":    {"deletionGroups: [{customResourceGroup: {deleteAllResources: true, resources: [{apiVersion: v1, kind: ConfigMap, namespaces: [NAMESPACE]}]}}]\n", []string{"role", "secret"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.succeed(c.groups + these(one1, two2, secret, roleHead))
			w.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: foreign, namespace: NAMESPACE}}`)
			w.delete()
			var left []string
			for _, name := range []string{"one", "two"} {
				if w.configMap(name) != nil {
					left = append(left, name)
				}
			}
			if w.read("secret", &corev1.Secret{}) {
				left = append(left, "secret")
			}
			if w.clusterRole() {
				left = append(left, "role")
			}
			slices.Sort(left)
			if !slices.Equal(left, c.left) {
				t.Errorf("left are %v, want %v", left, c.left)
			}
			if foreign := w.configMap("foreign") != nil; foreign == (name == "all of a kind") {
				t.Errorf("the object of somebody else is there: %v", foreign)
			}
		})
	}
}

func TestDeleteAllSparesWhatIsKept(t *testing.T) {
	w := newWorld(t)
	w.succeed(
		"deletionGroups: [{customResourceGroup: {deleteAllResources: true, resources: [{apiVersion: v1, kind: ConfigMap, namespaces: [NAMESPACE]}]}}]\n" +
			"manifests: [{policy: keep, manifest: " + one1 + "}, {manifest: " + two2 + "}]",
	)
	w.delete()
	if w.configMap("one") == nil || w.configMap("two") != nil {
		t.Error("the wrong objects are left")
	}
}

func TestDeletionGroupsDuringUpdate(t *testing.T) {
	w := newWorld(t)
	groups := "deletionGroupsDuringUpdate: [{customResourceGroup: {resources: [{apiVersion: v1, kind: Secret}]}}]\n"
	w.succeed(groups + these(one1, two2, secret))
	w.succeed(groups + these(two2))
	if w.configMap("one") == nil || w.read("secret", &corev1.Secret{}) {
		t.Error("the wrong objects were removed by the update")
	}
	if got := w.managed(); !slices.Equal(got, []string{"ConfigMap/one", "ConfigMap/two"}) {
		t.Errorf("what the update left alone is forgotten: %v", got)
	}
	w.delete()
	if w.configMap("one") != nil {
		t.Error("what the update left alone was not deleted with the item")
	}
}

// A group that takes everything of a kind does not take objects that the update has just applied.
func TestDeleteAllDuringUpdate(t *testing.T) {
	w := newWorld(t)
	groups := "deletionGroupsDuringUpdate: [{customResourceGroup: {deleteAllResources: true, resources: [{apiVersion: v1, kind: ConfigMap, namespaces: [NAMESPACE]}]}}]\n"
	w.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: foreign, namespace: NAMESPACE}}`)
	w.succeed(groups + these(one1))
	if w.configMap("one") == nil || w.configMap("foreign") != nil {
		t.Error("the wrong objects are left")
	}
}

func TestDeleteAllInAnotherCluster(t *testing.T) {
	second := testkit.NewServer(t)
	w := newWorld(t)
	w.targets["second"] = testkit.Target(w.Namespace, "second").Cluster(t, second).Build()
	there := second.Namespace(t)
	foreign := &corev1.ConfigMap{}
	foreign.Namespace, foreign.Name = there, "foreign"
	if err := second.Client().Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	w.succeed(
		"deletionGroups: [{customResourceGroup: {targetName: second, deleteAllResources: true, resources: [{apiVersion: v1, kind: ConfigMap, namespaces: [" + there + "]}]}}, {predefinedResourceGroup: {type: namespaced-resources}}]\n" + these(
			one1,
		),
	)
	w.delete()
	testkit.EventuallyGone(t, second, foreign)
	if w.configMap("one") != nil {
		t.Error("the item's own object is left")
	}
}

func TestWhatHappensBeforeDeletion(t *testing.T) {
	w := newWorld(t)
	w.succeed(`
manifests:
- annotateBeforeDelete: {farewell: "yes"}
  patchBeforeDelete: {data: {state: leaving}}
  manifest: ` + heldOne)
	w.beginDelete()
	if _, err := w.pass(); err != nil {
		t.Fatal(err)
	}
	object := w.configMap("one")
	if object.Annotations["farewell"] != "yes" || object.Data["state"] != "leaving" || object.DeletionTimestamp == nil {
		t.Errorf("the object is %+v", object)
	}
	w.change(object, func() { object.Finalizers, object.Data = nil, nil })
	w.mustGoOn()
	if patches := strings.Count(strings.Join(w.writes(), "\n"), "patch configmaps"); patches != 1 {
		t.Errorf("it was patched %d times", patches)
	}
}

func TestDeletionHappensByUID(t *testing.T) {
	w := newWorld(t)
	w.succeed(oneConfigMap)
	w.delete()
	for _, entry := range w.transport.Log().Writes() {
		if entry.Verb == "delete" && !slices.Contains(entry.Fields, "preconditions.uid") {
			t.Errorf("the deletion has the fields %v", entry.Fields)
		}
	}
	if w.configMap("one") != nil {
		t.Error("it is still there")
	}
}
