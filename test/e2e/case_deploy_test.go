// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// deployed lists the ConfigMaps that deployers have created.
func (w *world) deployed() []string {
	w.Helper()
	var list corev1.ConfigMapList
	w.names(&list)
	names := []string{}
	for i := range list.Items {
		if list.Items[i].Labels["manifest.deployer.landscaper.gardener.cloud/deployitem"] != "" {
			names = append(names, list.Items[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

func (w *world) wantDeployed(names ...string) {
	w.Helper()
	if difference := cmp.Diff(names, w.deployed()); difference != "" {
		w.Errorf("what is deployed is not what should be:\n%s", difference)
	}
}

// wantNothingLeft deletes an installation and checks that everything that it created is deleted with it.
func (w *world) wantNothingLeft(name string) {
	w.Helper()
	w.removed(name)
	left := w.inventory()
	if len(w.deployed())+len(left["Installation"])+len(left["Execution"])+len(left["DeployItem"]) > 0 {
		w.Errorf("left are %v", left)
	}
	var data lsv1alpha1.DataObjectList
	var targets lsv1alpha1.TargetList
	w.names(&data)
	w.names(&targets)
	for _, object := range data.Items {
		if len(object.OwnerReferences) > 0 {
			w.Errorf("DataObject %s is left", object.Name)
		}
	}
	for _, object := range targets.Items {
		if len(object.OwnerReferences) > 0 {
			w.Errorf("Target %s is left", object.Name)
		}
	}
}

// setData writes a DataObject.
func (w *world) setData(name, value string) {
	w.Helper()
	w.create(fmt.Sprintf("apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: DataObject\nmetadata: {name: %s}\ndata: %s", name, value))
}

func TestCase_ManifestsAreInstalledUpgradedAndRemoved(t *testing.T) {
	w := newWorld(t)
	w.apply("manifests.yaml")
	w.finished("app", lsv1alpha1.PhaseSucceeded)
	w.wantDeployed("goes", "stays")
	w.apply("manifests-upgraded.yaml")
	w.finished("app", lsv1alpha1.PhaseSucceeded)
	w.wantDeployed("comes", "stays")
	if stays := w.configMap("stays"); !w.Read(stays) || stays.Data["version"] != "2" {
		t.Errorf("the object that stays is %v", stays.Data)
	}
	w.wantNothingLeft("app")
}

func TestCase_TwoTargetsInOrder(t *testing.T) {
	w := newWorld(t)
	recorder := w.record()
	w.apply("two-targets.yaml")
	w.finished("app", lsv1alpha1.PhaseSucceeded)
	w.wantDeployed("earlier", "later")
	w.wantNothingLeft("app")
	var order []string
	for _, revision := range recorder.History() {
		if revision.Object.GetKind() == "ConfigMap" && (revision.Change == testkit.Added || revision.Change == testkit.Deleted) {
			order = append(order, string(revision.Change)+" "+revision.Object.GetName())
		}
	}
	if want := []string{"added earlier", "added later", "deleted later", "deleted earlier"}; !slices.Equal(order, want) {
		t.Errorf("it happened in the order %q", order)
	}
}

func TestCase_ABrokenBlueprintFailsAtOnceAndCanBeRepaired(t *testing.T) {
	w := newWorld(t)
	w.apply("manifests.yaml")
	broken := installationOf("app", "imports: {targets: [{name: cluster, target: cluster}]}", "imports: [\n")
	w.finished("app", lsv1alpha1.PhaseSucceeded)
	w.create(broken)
	failed := w.rerun("app", lsv1alpha1.PhaseFailed)
	if !strings.Contains(failed.Status.LastError.Message, "blueprint.yaml") {
		t.Errorf("the error does not say where: %s", failed.Status.LastError.Message)
	}
	w.wantDeployed("goes", "stays")
	w.apply("manifests-upgraded.yaml")
	w.finished("app", lsv1alpha1.PhaseSucceeded)
	w.wantDeployed("comes", "stays")
}

func TestCase_WhatIsNeverReadyIsInterruptedOrTimesOut(t *testing.T) {
	w := newWorld(t)
	w.setData("wanted", "{state: absent, timeout: 1h}")
	w.apply("never-ready.yaml")
	w.waitsForReadiness()
	w.Annotate(w.installation("app"), lsv1alpha1.OperationAnnotation, string(lsv1alpha1.OperationInterrupt))
	failed := w.finished("app", lsv1alpha1.PhaseFailed)
	if !strings.Contains(failed.Status.LastError.Message, "interrupt") {
		t.Errorf("lastError = %+v", failed.Status.LastError)
	}

	w.setData("wanted", "{state: absent, timeout: 1s}")
	failed = w.rerun("app", lsv1alpha1.PhaseFailed)
	item := w.items()["slow"]
	if !slices.Contains(item.Status.LastError.Codes, lsv1alpha1.ErrorTimeout) ||
		!strings.Contains(failed.Status.LastError.Message, "timed out after 1s") {
		t.Errorf("errors: %+v, %+v", item.Status.LastError, failed.Status.LastError)
	}

	w.setData("wanted", "{state: present, timeout: 1h}")
	w.rerun("app", lsv1alpha1.PhaseSucceeded)
	w.wantNothingLeft("app")
}

// waitsForReadiness waits until the deploy item has applied everything and waits for a check.
func (w *world) waitsForReadiness() {
	w.Helper()
	testkit.Eventually(w.T, w.APIServer, w.execution("app"), testkit.Is("running", func(e *lsv1alpha1.Execution) bool {
		return e.Status.Phase == lsv1alpha1.PhaseProgressing
	}))
	testkit.Eventually(w.T, w.APIServer, w.items()["slow"], testkit.Is("waiting for a check", func(i *lsv1alpha1.DeployItem) bool {
		return slices.ContainsFunc(i.Status.Conditions, func(c lsv1alpha1.Condition) bool {
			return strings.Contains(c.Message, "slow") && i.Status.Phase == lsv1alpha1.PhaseProgressing
		})
	}))
	w.wantDeployed("slow")
}

func TestCase_ATargetThatCannotBeReachedAtDeletion(t *testing.T) {
	w := newWorld(t)
	w.setData("wanted", "{state: present, timeout: 3s}")
	w.apply("never-ready.yaml")
	w.finished("app", lsv1alpha1.PhaseSucceeded)
	w.create(strings.Replace(clusterTarget, "KUBECONFIG", deadKubeconfig, 1))
	w.Delete(w.installation("app"))
	failed := w.finished("app", lsv1alpha1.PhaseDeleteFailed)
	if failed.Status.LastError == nil || !w.Read(w.configMap("slow")) {
		t.Errorf("lastError = %+v", failed.Status.LastError)
	}
	w.create(clusterTarget)
	w.request("app")
	testkit.EventuallyGone(t, w.APIServer, w.installation("app"))
	w.wantDeployed([]string{}...)
}

// deadKubeconfig leads to a port on which nothing listens.
const deadKubeconfig = `'{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],` +
	`"clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:1"}}],"users":[{"name":"u","user":{"token":"t"}}]}'`

func TestCase_ATargetIsTheClusterItself(t *testing.T) {
	w := newWorld(t)
	w.apply("self-target.yaml")
	w.finished("app", lsv1alpha1.PhaseSucceeded)
	w.wantDeployed("planted")
	w.wantNothingLeft("app")
}
