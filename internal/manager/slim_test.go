// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/managed"
)

const lastApplied = corev1.LastAppliedConfigAnnotation

func TestWhatCachesKeep(t *testing.T) {
	owned := &landscaper.Installation{}
	owned.OwnerReferences = []metav1.OwnerReference{{Kind: "Installation", Name: "parent"}}
	labelled := &landscaper.Installation{}
	labelled.Labels = map[string]string{landscaper.EncompassedByLabel: "parent"}
	nested := &landscaper.Installation{}
	nested.Annotations = map[string]string{landscaper.SubinstallationNameAnnotation: "below"}
	for name, c := range map[string]struct {
		object client.Object
		keeps  bool
	}{
		"root":                              {&landscaper.Installation{}, false},
		"pipeline":                          {&pipelines.Pipeline{}, false},
		"metadata of a Secret":              {&metav1.PartialObjectMetadata{}, false},
		"nested by its owner":               {owned, true},
		"nested by its label":               {labelled, true},
		"nested by its name":                {nested, true},
		"execution":                         {&landscaper.Execution{}, true},
		"deploy item":                       {&landscaper.DeployItem{}, true},
		"DataObject":                        {&landscaper.DataObject{}, true},
		"Target, which templates see whole": {&landscaper.Target{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			annotations := map[string]string{lastApplied: "{}", "other": "stays"}
			for key, value := range c.object.GetAnnotations() {
				annotations[key] = value
			}
			c.object.SetAnnotations(annotations)
			c.object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl"}})
			if _, err := manager.Slim(c.object); err != nil {
				t.Fatal(err)
			}
			if len(c.object.GetManagedFields()) > 0 {
				t.Error("managed fields are kept")
			}
			if _, kept := c.object.GetAnnotations()[lastApplied]; kept != c.keeps {
				t.Errorf("what kubectl remembers is kept: %t, want %t", kept, c.keeps)
			}
			if c.object.GetAnnotations()["other"] != "stays" {
				t.Error("another annotation is gone")
			}
		})
	}
}

// The caches of a manager contain objects as Slim leaves them.
func TestAManagerCachesSlimObjects(t *testing.T) {
	w := managed.NewWorld(t)
	root := testkit.Installation(w.Namespace, "root").Blueprint(mockBlueprint).Build()
	root.Annotations = map[string]string{lastApplied: "{}"}
	w.Create(root)
	if !w.Read(root) || len(root.ManagedFields) == 0 || root.Annotations[lastApplied] == "" {
		t.Fatalf("the API server has nothing that a cache could drop: %+v", root.ObjectMeta)
	}
	mgr := managed.Manager(t, w.Config(), w.Options)
	testkit.Run(t, mgr.Start)
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("the caches are not filled")
	}
	cached := &landscaper.Installation{}
	if err := mgr.GetCache().Get(ctx, client.ObjectKeyFromObject(root), cached); err != nil {
		t.Fatal(err)
	}
	if len(cached.ManagedFields) > 0 || cached.Annotations[lastApplied] != "" {
		t.Errorf("the cache has managed fields %v and annotations %v", cached.ManagedFields, cached.Annotations)
	}
}

// twoLevels returns a blueprint with a nested installation, which has a deploy item and an export. Another word changes everything.
func twoLevels(word string) string {
	return fmt.Sprintf(`apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports:
- {name: cluster, type: target, targetType: landscaper.gardener.cloud/mock}
subinstallations:
- apiVersion: landscaper.gardener.cloud/v1alpha1
  kind: InstallationTemplate
  name: below
  imports:
    targets:
    - {name: cluster, target: cluster}
  exports:
    data:
    - {name: word, dataRef: word}
  blueprint:
    filesystem:
      blueprint.yaml: |
        apiVersion: landscaper.gardener.cloud/v1alpha1
        kind: Blueprint
        imports:
        - {name: cluster, type: target, targetType: landscaper.gardener.cloud/mock}
        exports:
        - {name: word, type: data, schema: {type: string}}
        exportExecutions:
        - name: default
          type: GoTemplate
          template: |
            exports: {word: %[1]s}
        deployExecutions:
        - name: default
          type: GoTemplate
          template: |
            deployItems:
            - name: item
              type: landscaper.gardener.cloud/mock
              target: {import: cluster}
              config:
                apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1
                kind: ProviderConfiguration
                export: {word: %[1]s}
exports:
- {name: word, type: data, schema: {type: string}}
exportExecutions:
- name: default
  type: GoTemplate
  template: |
    exports: {word: %[1]s}
`, word)
}

// Not all caches keep the annotation of kubectl apply. It stays in the cluster, whatever controllers write.
func TestWhatKubectlRemembersStays(t *testing.T) {
	w := managed.NewWorld(t)
	root := testkit.Installation(w.Namespace, "root").Blueprint(twoLevels("one")).ImportTarget("cluster", "cluster").
		ExportData("word", "word").Reconcile().Build()
	w.Create(testkit.Target(w.Namespace, "cluster").Type("landscaper.gardener.cloud/mock").Build(), root)
	w.Manage()
	testkit.EventuallyFinished(t, w.APIServer, root, landscaper.PhaseSucceeded)
	before := everything(w)
	for _, object := range before {
		w.Annotate(object, lastApplied, "by hand")
	}
	spec, err := json.Marshal(testkit.Installation(w.Namespace, "root").Blueprint(twoLevels("two")).Build().Spec.Blueprint)
	if err != nil {
		t.Fatal(err)
	}
	w.Patch(root, fmt.Sprintf(`{"metadata":{"annotations":{%q:"reconcile"}},"spec":{"blueprint":%s}}`, landscaper.OperationAnnotation, spec))
	testkit.EventuallyFinished(t, w.APIServer, root, landscaper.PhaseSucceeded)

	rewritten := map[string]int{}
	for _, old := range before {
		now := old.DeepCopyObject().(client.Object)
		if !w.Read(now) {
			t.Errorf("%T %s is gone", old, old.GetName())
			continue
		}
		if now.GetAnnotations()[lastApplied] != "by hand" {
			t.Errorf("%T %s has lost what kubectl remembers: %v", now, now.GetName(), now.GetAnnotations())
		}
		if now.GetGeneration() != old.GetGeneration() || now.GetGeneration() == 0 {
			rewritten[fmt.Sprintf("%T", now)]++
		}
	}
	for _, object := range []client.Object{
		&landscaper.Installation{}, &landscaper.Execution{}, &landscaper.DeployItem{}, &landscaper.DataObject{},
	} {
		if rewritten[fmt.Sprintf("%T", object)] == 0 {
			t.Errorf("no %T was written, so the test shows nothing of it: %v", object, rewritten)
		}
	}
}

// everything returns the objects of a world that controllers write.
func everything(w *managed.World) []client.Object {
	w.Helper()
	var all []client.Object
	for _, list := range []client.ObjectList{
		&landscaper.InstallationList{}, &landscaper.ExecutionList{}, &landscaper.DeployItemList{}, &landscaper.DataObjectList{},
		&landscaper.TargetList{},
	} {
		if err := w.Client().List(w.Context(), list, client.InNamespace(w.Namespace)); err != nil {
			w.Fatal(err)
		}
		err := meta.EachListItem(list, func(object runtime.Object) error {
			all = append(all, object.(client.Object))
			return nil
		})
		if err != nil {
			w.Fatal(err)
		}
	}
	return all
}
