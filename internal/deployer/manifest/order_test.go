// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"espalier.dev/internal/deployer/objects/cluster"
)

// everyGroup is written in the wrong order. WORLD makes cluster-scoped names unique.
const everyGroup = `
manifests:
- manifest:
    apiVersion: WORLD.example.com/v1
    kind: Plant
    metadata: {name: rose, namespace: WORLD-garden}
    spec: {height: 3}
- manifest:
    apiVersion: v1
    kind: List
    items:
    - apiVersion: v1
      kind: ConfigMap
      metadata: {name: one, namespace: WORLD-garden}
    - apiVersion: rbac.authorization.k8s.io/v1
      kind: ClusterRole
      metadata: {name: WORLD-role, namespace: nonsense}
- manifest:
    apiVersion: WORLD.example.com/v1
    kind: Fence
    metadata: {name: WORLD-fence}
- manifest: {apiVersion: v1, kind: Namespace, metadata: {name: WORLD-garden}}
- manifest:
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: plants.WORLD.example.com}
    spec: {group: WORLD.example.com, scope: Namespaced, names: {kind: Plant, plural: plants}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}
- manifest:
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: fences.WORLD.example.com}
    spec: {group: WORLD.example.com, scope: Cluster, names: {kind: Fence, plural: fences}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}
`

// writes returns the writes to the cluster in order, as verb and resource.
func (w *world) writes() []string {
	var result []string
	for _, entry := range w.transport.Log().Writes() {
		result = append(result, entry.Verb+" "+entry.Resource)
	}
	return result
}

func TestObjectsAreAppliedAndRemovedInOrder(t *testing.T) {
	w := newWorldOn(t, testkitServerWithControllers(t), "")
	w.succeed(replace(everyGroup, "WORLD", "order"))
	got := w.writes()
	for _, part := range [][]string{got[0:2], got[3:5], got[5:7]} {
		slices.Sort(part)
	}
	want := []string{
		"create customresourcedefinitions", "create customresourcedefinitions", "create namespaces",
		"create clusterroles", "create fences", "create configmaps", "create plants",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the writes were %v", got)
	}
	w.delete()
	deletions := slices.DeleteFunc(w.writes(), func(s string) bool { return !strings.HasPrefix(s, "delete") })
	for _, part := range [][]string{deletions[0:2], deletions[2:5], deletions[5:7]} {
		slices.Sort(part)
	}
	wantDeletions := []string{
		"delete configmaps", "delete plants", "delete clusterroles", "delete fences", "delete namespaces",
		"delete customresourcedefinitions", "delete customresourcedefinitions",
	}
	if !slices.Equal(deletions, wantDeletions) {
		t.Errorf("the deletions were %v", deletions)
	}
}

// The first pass cannot create the custom resource: its kind is not served yet. The item waits for that, and an event wakes
// it.
func TestACustomResourceWaitsForItsKind(t *testing.T) {
	w := newWorld(t)
	w.configure(replace(everyGroup, "WORLD", "kinds"))
	if err := w.start(); err != nil {
		t.Fatal(err)
	}
	progress, err := w.pass()
	if err != nil {
		t.Fatal(err)
	}
	if !progress.Done && progress.Waiting.Code != cluster.WaitingForKind {
		t.Errorf("it waits: %+v", progress.Waiting)
	}
	if !progress.Done {
		if _, err := w.goOn(); err != nil {
			t.Fatal(err)
		}
	}
	rose := &unstructured.Unstructured{}
	rose.SetGroupVersionKind(schema.GroupVersionKind{Group: "kinds.example.com", Version: "v1", Kind: "Plant"})
	w.Namespace = "kinds-garden"
	if !w.read("rose", rose) {
		t.Error("the custom resource was not created")
	}
	if creations := strings.Count(strings.Join(w.writes(), "\n"), "create customresourcedefinitions"); creations != 2 {
		t.Errorf("definitions were created %d times", creations)
	}
}

func TestAnObjectOfAnUnknownKindIsNamed(t *testing.T) {
	w := newWorld(t)
	_, err := w.deploy(oneConfigMap + `
- manifest: {apiVersion: nobody.example.com/v1, kind: Ghost, metadata: {name: boo, namespace: NAMESPACE}}
`)
	if err == nil || !strings.Contains(err.Error(), "Ghost "+w.Namespace+"/boo") ||
		!strings.Contains(err.Error(), "does not serve this kind") {
		t.Errorf("the error is %v", err)
	}
	if w.configMap("one") == nil {
		t.Error("the other object was not applied")
	}
	if len(w.managed()) != 2 {
		t.Errorf("the inventory is %v", w.managed())
	}
	w.delete()
	if w.configMap("one") != nil || len(w.managed()) != 0 {
		t.Errorf("after the deletion the inventory is %v", w.managed())
	}
}
