// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// start gives an object a new job, as users do without an installation above it.
func (w *world) start(object client.Object) string {
	w.Helper()
	job := uuid.NewString()
	w.PatchStatus(object, fmt.Sprintf(`{"status":{"jobID":%q}}`, job))
	return job
}

func TestJOB02_AnExecutionMadeByHandIsStartedByItsJobID(t *testing.T) {
	w := newWorld(t)
	recorder := w.record()
	w.create(`
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Execution
metadata: {name: bare}
spec:
  context: default
  deployItems:
  - {name: a, type: landscaper.gardener.cloud/mock, config: {apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration, export: {word: one}}}
  - {name: b, type: landscaper.gardener.cloud/mock, dependsOn: [a], config: {apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration}}
`)
	recorder.Quiet(t, time.Second)
	if len(w.items()) > 0 {
		t.Error("it began without a job")
	}
	job := w.start(w.execution("bare"))
	first := testkit.EventuallyFinished(t, w.APIServer, w.execution("bare"), lsv1alpha1.PhaseSucceeded)
	if first.Status.JobID != job || first.Status.ExportReference == nil ||
		w.data(first.Status.ExportReference.Name) != `{"a":{"word":"one"}}` {
		t.Errorf("status %+v", first.Status)
	}
	before := w.items()

	w.Patch(
		w.execution("bare"),
		`{"spec":{"deployItemsCompressed":null,"deployItems":[{"name":"a","type":"landscaper.gardener.cloud/mock","config":{
		"apiVersion":"mock.deployer.landscaper.gardener.cloud/v1alpha1","kind":"ProviderConfiguration","export":{"word":"two"}}}]}}`,
	)
	w.start(w.execution("bare"))
	second := testkit.EventuallyFinished(t, w.APIServer, w.execution("bare"), lsv1alpha1.PhaseSucceeded)
	after := w.items()
	if after["b"] != nil || after["a"] == nil {
		t.Fatalf("items after the change: %q, want a", slices.Sorted(maps.Keys(after)))
	}
	was, is := before["a"], after["a"]
	if is.UID != was.UID {
		t.Error("the item that stays is another object than before")
	}
	if is.Generation <= was.Generation || is.Status.ObservedGeneration != is.Generation {
		t.Errorf("generation %d after %d, observed %d", is.Generation, was.Generation, is.Status.ObservedGeneration)
	}
	if got := w.data(second.Status.ExportReference.Name); got != `{"a":{"word":"two"}}` {
		t.Errorf("exports after the change: %s", got)
	}

	w.Delete(w.execution("bare"))
	w.start(w.execution("bare"))
	testkit.EventuallyGone(t, w.APIServer, w.execution("bare"))
	if left := w.inventory(); len(left["DeployItem"])+len(left["DataObject"]) > 0 {
		t.Errorf("left are %v", left)
	}
}

func TestJOB73_ADeployItemMadeByHandIsStartedByItsJobID(t *testing.T) {
	w := newWorld(t)
	w.create(clusterTarget, `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: DeployItem
metadata: {name: bare}
spec:
  type: landscaper.gardener.cloud/kubernetes-manifest
  target: {name: cluster, namespace: NAMESPACE}
  config:
    apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
    kind: ProviderConfiguration
    manifests:
    - manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: deployed, namespace: NAMESPACE}, data: {key: value}}
`)
	job := w.start(w.deployItem("bare"))
	item := testkit.EventuallyFinished(t, w.APIServer, w.deployItem("bare"), lsv1alpha1.PhaseSucceeded)
	if item.Status.JobID != job || !slices.Contains(item.Finalizers, lsv1alpha1.Finalizer) || !w.Read(w.configMap("deployed")) {
		t.Errorf("item %+v", item)
	}
	w.Delete(w.deployItem("bare"))
	if !w.Read(w.deployItem("bare")) || !w.Read(w.configMap("deployed")) {
		t.Error("it went without a job")
	}
	w.start(w.deployItem("bare"))
	testkit.EventuallyGone(t, w.APIServer, w.deployItem("bare"))
	if w.Read(w.configMap("deployed")) {
		t.Error("what it deployed is left")
	}
}

// A third-party deployer interacts with these controllers only through the API. The test plays this one.
func TestJOB73_ADeployerOfSomebodyElseTakesPart(t *testing.T) {
	w := newWorld(t)
	w.create(`
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata: {name: app, annotations: {landscaper.gardener.cloud/operation: reconcile}}
spec:
  exports: {data: [{name: page, dataRef: page}]}
  blueprint:
    inline:
      filesystem:
        blueprint.yaml: |
          apiVersion: landscaper.gardener.cloud/v1alpha1
          kind: Blueprint
          exports:
          - {name: page, type: data, schema: {type: integer}}
          deployExecutions:
          - name: default
            type: GoTemplate
            template: |
              deployItems:
              - {name: sheet, type: example.com/paper, config: {apiVersion: example.com/v1, kind: Print}}
          exportExecutions:
          - name: default
            type: GoTemplate
            template: |
              exports: {page: {{ .values.deployitems.sheet.page }}}
`)
	running := testkit.Eventually(
		t,
		w.APIServer,
		w.installation("app"),
		testkit.Is("in phase Progressing", func(i *lsv1alpha1.Installation) bool {
			return i.Status.Phase == lsv1alpha1.PhaseProgressing
		}),
	)
	testkit.Eventually(t, w.APIServer, w.execution("app"), testkit.Is("in phase Progressing", func(e *lsv1alpha1.Execution) bool {
		return e.Status.Phase == lsv1alpha1.PhaseProgressing
	}))
	item := w.items()["sheet"]
	if item.Status.JobID != running.Status.JobID || item.Annotations[lsv1alpha1.DeployerTypeAnnotation] != "example.com/paper" {
		t.Fatalf("the item says %+v %v", item.Status, item.Annotations)
	}
	w.PatchStatus(
		item,
		fmt.Sprintf(
			`{"status":{"phase":"Progressing","lastReconcileTime":%q,"observedGeneration":%d,"deployer":{"identity":"p","name":"paper","version":"1"}}}`,
			time.Now().UTC().Format(time.RFC3339),
			item.Generation,
		),
	)
	w.create(fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s-export}\nstringData: {config: 'page: 7'}", item.Name))
	w.PatchStatus(item, fmt.Sprintf(`{"status":{"phase":"Succeeded","jobIDFinished":%q,"exportRef":{"name":"%s-export","namespace":%q}}}`,
		item.Status.JobID, item.Name, w.Namespace))
	w.finished("app", lsv1alpha1.PhaseSucceeded)
	if got := w.data("page"); got != "7" {
		t.Errorf("the installation exports %s", got)
	}

	w.Delete(w.installation("app"))
	item = testkit.Eventually(t, w.APIServer, item, testkit.Is("asked to go", func(i *lsv1alpha1.DeployItem) bool {
		return i.DeletionTimestamp != nil && !i.Status.IsFinished()
	}))
	now := time.Now().UTC().Format(time.RFC3339)
	w.PatchStatus(item, fmt.Sprintf(`{"status":{"phase":"DeleteFailed","jobIDFinished":%q,"lastError":{
		"operation":"Shred","reason":"Jam","message":"the shredder is jammed","lastTransitionTime":%q,"lastUpdateTime":%q}}}`, item.Status.JobID, now, now))
	failed := w.finished("app", lsv1alpha1.PhaseDeleteFailed)
	if !strings.Contains(failed.Status.LastError.Message, "the shredder is jammed") {
		t.Errorf("the reason did not come through: %+v", failed.Status.LastError)
	}
	w.request("app")
	item = testkit.Eventually(
		t,
		w.APIServer,
		item,
		testkit.Is("asked again", func(i *lsv1alpha1.DeployItem) bool { return !i.Status.IsFinished() }),
	)
	w.Patch(item, `{"metadata":{"finalizers":null}}`)
	testkit.EventuallyGone(t, w.APIServer, w.installation("app"))
}
