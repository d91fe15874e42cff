// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/testkit"
)

const (
	one1 = `{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: NAMESPACE}, data: {key: value}}`
	two2 = `{apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: NAMESPACE}, data: {key: value}}`
	// bad is rejected by the API server.
	bad = `{apiVersion: v1, kind: ConfigMap, metadata: {name: bad, namespace: NAMESPACE}, data: {"no key": hunter2}}`
)

// these returns a configuration of manifests with the default policy.
func these(manifests ...string) string {
	text := "manifests:\n"
	for _, m := range manifests {
		text += "- manifest: " + m + "\n"
	}
	return text
}

func TestWhatIsNoLongerRenderedIsPruned(t *testing.T) {
	w := newWorld(t)
	w.succeed(these(one1, two2))
	w.succeed(these(two2))
	if w.configMap("one") != nil || w.configMap("two") == nil {
		t.Error("the wrong objects are left")
	}
	if got := w.managed(); !slices.Equal(got, []string{"ConfigMap/two"}) {
		t.Errorf("the inventory is %v", got)
	}
}

func TestNothingIsPrunedAfterAFailureAndNothingIsLost(t *testing.T) {
	w := newWorld(t)
	w.succeed(these(one1))
	_, err := w.deploy(these(two2, bad))
	if failure.KindOf(err) != failure.Terminal {
		t.Fatalf("the error is %v", err)
	}
	if w.configMap("one") == nil || w.configMap("two") == nil {
		t.Error("an object was pruned, or what could be applied was not")
	}
	if got := w.managed(); !slices.Equal(got, []string{"ConfigMap/bad", "ConfigMap/one", "ConfigMap/two"}) {
		t.Errorf("the inventory is %v", got)
	}
	w.succeed(these(two2))
	if got := w.managed(); w.configMap("one") != nil || !slices.Equal(got, []string{"ConfigMap/two"}) {
		t.Errorf("after the repair the inventory is %v", got)
	}
}

// The process dies right after the object was created, before it could be recorded.
func TestACrashBetweenIntentAndStatus(t *testing.T) {
	for name, goOn := range map[string]func(*world){
		"the job goes on":     func(w *world) { w.mustGoOn() },
		"the item is deleted": func(w *world) { w.beginDelete(); w.mustGoOn() },
		"the manifest is gone": func(w *world) {
			w.succeed("manifests: []")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.configure(oneConfigMap)
			if err := w.start(); err != nil {
				t.Fatal(err)
			}
			if _, err := w.deployer.Deploy(t.Context(), w.work()); err != nil {
				t.Fatal(err)
			}
			if w.configMap("one") == nil {
				t.Fatal("it was not created")
			}
			w.restart()
			goOn(w)
			if left := w.configMap("one") != nil; left != (name == "the job goes on") {
				t.Errorf("left: %v", left)
			}
		})
	}
}

func (w *world) mustGoOn() {
	w.Helper()
	if _, err := w.goOn(); err != nil {
		w.Fatal(err)
	}
}

// The process dies before the object is created, and somebody else creates one with that name.
func TestAnIntentIsNoOwnership(t *testing.T) {
	w := newWorld(t)
	w.configure(oneConfigMap)
	if err := w.start(); err != nil {
		t.Fatal(err)
	}
	w.create(foreignConfigMap)
	w.delete()
	if w.configMap("one") == nil {
		t.Error("the object of somebody else was deleted")
	}
}

// An object whose kind gets another version, or moves to another group, is the same object.
func TestAnObjectThatGoesByAnotherVersionIsNotPruned(t *testing.T) {
	w := newWorld(t)
	w.succeed(
		these(
			`{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: one, namespace: NAMESPACE}, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: x}}}`,
		),
	)
	w.succeed(
		these(
			`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: one, namespace: NAMESPACE}, spec: {maxReplicas: 4, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: x}}}`,
		),
	)
	if got := w.managed(); !slices.Equal(got, []string{"HorizontalPodAutoscaler/one"}) {
		t.Errorf("the inventory is %v", got)
	}
	for _, entry := range w.transport.Log().Writes() {
		if entry.Verb == "delete" {
			t.Errorf("it was deleted: %v", entry)
		}
	}
	w.item.Status.ProviderStatus.Raw = []byte(
		strings.ReplaceAll(string(w.item.Status.ProviderStatus.Raw), "autoscaling/v2", "extensions/v1beta1"),
	)
	w.succeed(
		these(
			`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: one, namespace: NAMESPACE}, spec: {maxReplicas: 4, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: x}}}`,
		),
	)
	if got := w.managed(); !slices.Equal(got, []string{"HorizontalPodAutoscaler/one"}) {
		t.Errorf("after the move the inventory is %v", got)
	}
}

// An object of ours is in deletion when the next job needs it: it is recreated once it is gone.
func TestAnObjectInDeletionIsAwaited(t *testing.T) {
	w := newWorld(t)
	w.succeed(oneConfigMap)
	old := w.configMap("one")
	w.change(old, func() { old.Finalizers = []string{"example.com/hold"} })
	w.Delete(old)
	w.configure(oneConfigMap)
	if err := w.start(); err != nil {
		t.Fatal(err)
	}
	progress, err := w.pass()
	if err != nil || progress.Done {
		t.Fatalf("done %t, %v", progress.Done, err)
	}
	if why := progress.Waiting; why.Code != cluster.WaitingForDeletion || !strings.Contains(why.Message, "ConfigMap "+w.Namespace+"/one") {
		t.Fatalf("waits for %+v", why)
	}
	held := w.configMap("one")
	w.endsAfter(func() { w.change(held, func() { held.Finalizers = nil }) })
	if again := w.configMap("one"); again == nil || again.UID == old.UID {
		t.Errorf("the object is %+v", again)
	}
}

func TestAnUnreadableInventoryStopsEverything(t *testing.T) {
	w := newWorld(t)
	w.remember(`{"apiVersion":"helm.deployer.landscaper.gardener.cloud/v1alpha1","kind":"ProviderStatus"}`)
	_, err := w.deploy(oneConfigMap)
	if failure.KindOf(err) != failure.Terminal || !strings.Contains(err.Error(), "status.providerStatus") {
		t.Errorf("the error is %v", err)
	}
	w.beginDelete()
	if _, err := w.pass(); failure.KindOf(err) != failure.Terminal {
		t.Errorf("the error of the deletion is %v", err)
	}
	if w.configMap("one") != nil {
		t.Error("it was applied nevertheless")
	}
}

func TestDeletionWithABrokenConfiguration(t *testing.T) {
	w := newWorld(t)
	w.succeed(oneConfigMap)
	w.configure("manifests: [{policy: nonsense}]")
	w.delete()
	if w.configMap("one") != nil {
		t.Error("it was not deleted")
	}
}

func TestDeletionOfAnItemThatWasNeverDeployed(t *testing.T) {
	w := newWorld(t)
	w.configure(
		"deletionGroups: [{customResourceGroup: {deleteAllResources: true, resources: [{apiVersion: v1, kind: ConfigMap, namespaces: [NAMESPACE]}]}}]",
	)
	w.create(foreignConfigMap)
	w.delete()
	if w.configMap("one") == nil {
		t.Error("an item that was never deployed deleted something")
	}
}

// The target is a different API server from that of the item.
func TestASecondCluster(t *testing.T) {
	second := testkit.NewServer(t)
	w := newWorldOn(t, second, "")
	w.succeed(oneConfigMap)
	if w.configMap("one") == nil {
		t.Fatal("it is not in the second cluster")
	}
	second.Kill()
	w.beginDelete()
	_, err := w.pass()
	if err == nil || failure.KindOf(err) != failure.Retryable {
		t.Errorf("without the cluster the error is %v", err)
	}
	if got := w.managed(); !slices.Equal(got, []string{"ConfigMap/one"}) {
		t.Errorf("without the cluster the inventory is %v", got)
	}
}

func TestSecretsStayOutOfErrorsAndStatus(t *testing.T) {
	w := newWorld(t)
	for name, manifest := range map[string]string{
		"an invalid Secret":     `{apiVersion: v1, kind: Secret, metadata: {name: one, namespace: NAMESPACE}, type: kubernetes.io/dockerconfigjson, stringData: {.dockerconfigjson: hunter2}}`,
		"not base64":            `{apiVersion: v1, kind: Secret, metadata: {name: one, namespace: NAMESPACE}, data: {password: hunter2}}`,
		"a wrong type":          `{apiVersion: v1, kind: Secret, metadata: {name: one, namespace: NAMESPACE}, type: {hunter2: hunter2}}`,
		"an invalid Deployment": `{apiVersion: apps/v1, kind: Deployment, metadata: {name: one, namespace: NAMESPACE}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: "hunter2 ", image: x}]}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.deploy(these(manifest))
			if failure.KindOf(err) != failure.Terminal {
				t.Fatalf("the error is not terminal: %v", err)
			}
			status, _ := json.Marshal(w.item.Status)
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(string(status), "hunter2") {
				t.Errorf("the value is in %v or %s", err, status)
			}
			if !strings.Contains(err.Error(), w.Namespace+"/one") {
				t.Errorf("the object is not named: %v", err)
			}
			t.Log(err)
		})
	}
}
