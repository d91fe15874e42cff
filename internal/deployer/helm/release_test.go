// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv1alpha1 "espalier.dev/api/deployer/helm/v1alpha1"
)

const oneConfigMap = `
-- values.yaml --
key: default
-- templates/one.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
data: {key: "{{ .Values.key }}"}
`

const twoConfigMaps = oneConfigMap + `
-- templates/two.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: two}
data: {key: second}
`

func TestAChartIsInstalledUpgradedAndUninstalled(t *testing.T) {
	w := newWorld(t)
	w.use(twoConfigMaps)
	w.succeed("values: {key: first}")
	if diff := cmp.Diff([]string{"one=first", "two=second"}, w.content()); diff != "" {
		t.Error(diff)
	}
	want := &helmv1alpha1.ReleaseStatus{
		ReleaseReference: helmv1alpha1.ReleaseReference{Name: "shop", Namespace: w.namespace}, Revision: 1, Chart: "shop", ChartVersion: "1.0.0", AppVersion: "7",
	}
	if diff := cmp.Diff(want, w.status().Release); diff != "" {
		t.Error(diff)
	}
	w.use(oneConfigMap)
	w.succeed("values: {key: other}")
	if diff := cmp.Diff([]string{"one=other"}, w.content()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"1=superseded", "2=deployed"}, w.history("shop")); diff != "" {
		t.Error(diff)
	}
	if got := w.status().Release.Revision; got != 2 {
		t.Errorf("the status shows revision %d", got)
	}
	if got := w.managed(); len(got) != 0 {
		t.Errorf("managedResources are %v", got)
	}
	w.delete()
	if diff := cmp.Diff([]string{}, w.content()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{}, w.history("shop")); diff != "" {
		t.Error(diff)
	}
}

func TestAnUnchangedItemMakesNoRevision(t *testing.T) {
	w := newWorld(t)
	w.use(twoConfigMaps)
	w.succeed("values: {key: first, number: 3, list: [1, a, {b: c}]}")
	seen := 0
	w.writes(&seen)
	for range 2 {
		w.restart()
		w.succeed("values: {key: first, number: 3, list: [1, a, {b: c}]}")
		if got := w.writes(&seen); len(got) > 0 {
			t.Errorf("an unchanged item wrote %v", got)
		}
	}
	if diff := cmp.Diff([]string{"1=deployed"}, w.history("shop")); diff != "" {
		t.Error(diff)
	}
}

// Emptying the values means the chart's defaults, not the previous values.
func TestEmptyValuesAreThoseOfTheChart(t *testing.T) {
	w := newWorld(t)
	w.use(oneConfigMap)
	w.succeed("values: {key: first}")
	w.succeed("")
	if diff := cmp.Diff([]string{"one=default"}, w.content()); diff != "" {
		t.Error(diff)
	}
}

func TestObjectsThatSomebodyChangedAreRestoredWithoutARevision(t *testing.T) {
	w := newWorld(t)
	w.use(twoConfigMaps)
	w.succeed("values: {key: first}")
	one := w.configMap("one")
	one.Data["key"], one.Data["foreign"] = "changed", "stays"
	if err := w.server.Client().Update(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	if err := w.server.Client().Delete(t.Context(), w.configMap("two")); err != nil {
		t.Fatal(err)
	}
	w.succeed("values: {key: first}")
	if diff := cmp.Diff([]string{"one=first", "two=second"}, w.content()); diff != "" {
		t.Error(diff)
	}
	if got := w.configMap("one").Data["foreign"]; got != "stays" {
		t.Errorf("the field of somebody else is %q", got)
	}
	if diff := cmp.Diff([]string{"1=deployed"}, w.history("shop")); diff != "" {
		t.Error(diff)
	}
	w.delete()
	if diff := cmp.Diff([]string{}, w.content()); diff != "" {
		t.Error(diff)
	}
}

func TestCreateNamespace(t *testing.T) {
	for _, mode := range []string{"true", "false"} {
		t.Run("helmDeployment "+mode, func(t *testing.T) {
			w := newWorld(t)
			w.use(oneConfigMap)
			other := w.namespace + "-other"
			w.succeed("{namespace: " + other + ", createNamespace: true, helmDeployment: " + mode + "}")
			object := &corev1.ConfigMap{}
			if err := w.server.Client().Get(t.Context(), client.ObjectKey{Namespace: other, Name: "one"}, object); err != nil {
				t.Error(err)
			}
			w.delete()
			namespace := &corev1.Namespace{}
			if err := w.server.Client().Get(t.Context(), client.ObjectKey{Name: other}, namespace); err != nil ||
				namespace.DeletionTimestamp != nil {
				t.Errorf("the namespace was deleted: %v", err)
			}
		})
	}
}

func TestAMissingNamespaceIsNamed(t *testing.T) {
	w := newWorld(t)
	w.use(oneConfigMap)
	_, err := w.deploy("{namespace: nowhere-" + w.namespace + "}")
	if err == nil {
		t.Fatal("no error")
	}
	assertFailure(t, err, failed{reason: "installRelease", contains: []string{"nowhere-" + w.namespace, "not found"}})
}

// A release with a new name is another release. The old one is removed once the new one is deployed.
func TestARenamedReleaseReplacesTheOldOne(t *testing.T) {
	w := newWorld(t)
	w.use(`
-- templates/one.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}"}, data: {key: x}}
`)
	w.succeed("")
	w.succeed("name: other")
	if diff := cmp.Diff([]string{"other=x"}, w.content()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{}, w.history("shop")); diff != "" {
		t.Error(diff)
	}
	if got := w.status().FormerReleases; len(got) > 0 {
		t.Errorf("former releases: %v", got)
	}
	w.delete()
	if diff := cmp.Diff([]string{}, w.content()); diff != "" {
		t.Error(diff)
	}
}

// Two items with the same release: the last one to deploy has it, and the deletion of the other one does no harm.
func TestAReleaseOfAnotherItemIsTakenOverAndSaidSo(t *testing.T) {
	w := newWorld(t)
	w.use(oneConfigMap)
	w.succeed("values: {key: first}")
	first := w.item.DeepCopy()
	w.item.Name, w.item.UID, w.item.Status.ProviderStatus = "second", "second", nil
	progress := w.succeed("values: {key: second}")
	if diff := cmp.Diff("taken over: release "+w.namespace+"/shop was managed by deploy item "+w.namespace+"/"+first.Name, progress.TakenOver); diff != "" {
		t.Error(diff)
	}
	second := w.item
	w.item = first
	w.delete()
	if diff := cmp.Diff([]string{"one=second"}, w.content()); diff != "" {
		t.Error(diff)
	}
	w.item = second
	w.delete()
	if diff := cmp.Diff([]string{}, w.content()); diff != "" {
		t.Error(diff)
	}
}

func TestAnItemThatHasLostItsReleaseSaysSoAndDoesNotFight(t *testing.T) {
	w := newWorld(t)
	w.use(oneConfigMap)
	const config = "{continuousReconcile: {every: 1h}, values: {key: first}}"
	w.succeed(config)
	first := w.item.DeepCopy()
	w.item.Name, w.item.UID, w.item.Status.ProviderStatus = "second", "second", nil
	w.succeed("values: {key: second}")
	w.item = first
	wanted := failed{
		reason: "ReleaseTakenOver", terminal: true,
		contains: []string{"release " + w.namespace + "/shop belongs to deploy item " + w.namespace + "/second", "revision 2 after revision 1"},
	}
	t.Run("when it looks after it", func(t *testing.T) {
		progress, err := w.deployer.Repair(t.Context(), w.work())
		assertFailure(t, err, wanted)
		w.store(progress.ProviderStatus)
		if got := w.status().Release.TakenOverBy; got != w.namespace+"/second" {
			t.Errorf("the status says %q", got)
		}
	})
	t.Run("in its next job", func(t *testing.T) {
		_, err := w.deploy(config)
		assertFailure(t, err, wanted)
	})
	if diff := cmp.Diff([]string{"one=second"}, w.content()); diff != "" {
		t.Error(diff)
	}
	t.Run("and gets it back once the mark of the other one is gone", func(t *testing.T) {
		record := &corev1.Secret{}
		w.read("sh.helm.release.v1.shop.v2", record)
		delete(record.Labels, "helm.deployer.landscaper.gardener.cloud/owner")
		if err := w.server.Client().Update(t.Context(), record); err != nil {
			t.Fatal(err)
		}
		w.succeed(config)
		if got := w.status().Release; got.TakenOverBy != "" || got.Revision != 3 {
			t.Errorf("the status says %+v", got)
		}
	})
}

func TestAnItemThatNeverTouchedItsTargetUninstallsNothing(t *testing.T) {
	w := newWorld(t)
	w.use(oneConfigMap)
	w.succeed("")
	w.item.Status.ProviderStatus = nil
	w.delete()
	if diff := cmp.Diff([]string{"one=default"}, w.content()); diff != "" {
		t.Error(diff)
	}
}

// Helm would fetch the descriptions of all kinds, which take megabytes, for each release, without using them where the API
// server validates fields itself.
func TestNoDescriptionsOfKindsAreFetched(t *testing.T) {
	w := newWorld(t)
	w.use(oneConfigMap)
	w.succeed("values: {key: first}")
	w.succeed("values: {key: other}")
	for _, entry := range w.transport.Log() {
		if strings.Contains(entry.Request.String(), "openapi") {
			t.Error(entry)
		}
	}
}
