// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"espalier.dev/api/deployer"
	manifestapi "espalier.dev/api/deployer/manifest/v1alpha2"
	"espalier.dev/internal/deployer/objects/inventory"
)

// one returns a configuration with one ConfigMap.
func one(policy deployer.ManifestPolicy, value string) string {
	return fmt.Sprintf(`
manifests:
- policy: %s
  manifest:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: one, namespace: NAMESPACE}
    data: {key: %s}
`, policy, value)
}

const foreignConfigMap = `
apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: NAMESPACE}
data: {key: foreign}
`

// expectation is the expected effect of a policy on an object.
type expectation struct {
	creates, changesOwn, deletesOwn              bool
	changesForeign, listsForeign, deletesForeign bool
}

var policyTable = map[deployer.ManifestPolicy]expectation{
	deployer.PolicyManage: {
		creates:        true,
		changesOwn:     true,
		deletesOwn:     true,
		changesForeign: true,
		listsForeign:   true,
		deletesForeign: true,
	},
	deployer.PolicyFallback:  {creates: true, changesOwn: true, deletesOwn: true},
	deployer.PolicyKeep:      {creates: true, changesOwn: true, changesForeign: true, listsForeign: true},
	deployer.PolicyImmutable: {creates: true, deletesOwn: true},
	deployer.PolicyIgnore:    {},
}

func TestPoliciesOnOwnObjects(t *testing.T) {
	for policy, want := range policyTable {
		t.Run(string(policy), func(t *testing.T) {
			w := newWorld(t)
			w.succeed(one(policy, "first"))
			if created := w.configMap("one") != nil; created != want.creates {
				t.Fatalf("created: %v, want %v", created, want.creates)
			}
			if listed := len(w.managed()) == 1; listed != want.creates {
				t.Errorf("listed: %v, want %v", listed, want.creates)
			}
			w.succeed(one(policy, "second"))
			if object := w.configMap("one"); object != nil && (object.Data["key"] == "second") != want.changesOwn {
				t.Errorf("the value is %q, changed: want %v", object.Data["key"], want.changesOwn)
			}
			w.delete()
			if left := w.configMap("one") != nil; left != (want.creates && !want.deletesOwn) {
				t.Errorf("left after deletion: %v", left)
			}
		})
	}
}

func TestPoliciesOnForeignObjects(t *testing.T) {
	for policy, want := range policyTable {
		t.Run(string(policy), func(t *testing.T) {
			w := newWorld(t)
			before := w.create(foreignConfigMap)
			w.succeed(one(policy, "ours"))
			object := w.configMap("one")
			if changed := object.Data["key"] == "ours"; changed != want.changesForeign {
				t.Errorf("changed: %v, want %v", changed, want.changesForeign)
			}
			if untouched := object.ResourceVersion == before.GetResourceVersion(); untouched == want.changesForeign {
				t.Errorf("untouched: %v: %+v", untouched, object)
			}
			if listed := len(w.managed()) == 1; listed != want.listsForeign {
				t.Errorf("listed: %v, want %v", listed, want.listsForeign)
			}
			w.delete()
			if deleted := w.configMap("one") == nil; deleted != want.deletesForeign {
				t.Errorf("deleted: %v, want %v", deleted, want.deletesForeign)
			}
		})
	}
}

func TestPoliciesWhenTheManifestGoes(t *testing.T) {
	for policy, want := range policyTable {
		t.Run(string(policy), func(t *testing.T) {
			w := newWorld(t)
			w.succeed(one(policy, "first"))
			w.succeed("manifests: []")
			if left := w.configMap("one") != nil; left != (want.creates && !want.deletesOwn) {
				t.Errorf("left after the update: %v", left)
			}
			if listed := w.managed(); len(listed) != 0 {
				t.Errorf("still listed: %v", listed)
			}
		})
	}
}

func TestAnObjectThatBecomesIgnoredIsReleased(t *testing.T) {
	w := newWorld(t)
	w.succeed(one(deployer.PolicyManage, "first"))
	w.succeed(one(deployer.PolicyIgnore, "second"))
	w.delete()
	if object := w.configMap("one"); object == nil || object.Data["key"] != "first" {
		t.Errorf("the object is %+v", object)
	}
}

// Two items of the same name in different namespaces are different owners.
func TestTheMarkHasTheNamespace(t *testing.T) {
	w := newWorld(t)
	w.create(fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata:
  name: one
  namespace: NAMESPACE
  labels: {%s: item}
  annotations: {%s: elsewhere/item}
data: {key: foreign}
`, manifestapi.ManagedDeployItemLabel, inventory.OwnerAnnotation))
	w.succeed(one(deployer.PolicyFallback, "ours"))
	w.delete()
	if object := w.configMap("one"); object == nil || object.Data["key"] != "foreign" {
		t.Errorf("the object of another item is %+v", object)
	}
}

func TestWhatAnotherItemTookOverIsNotDeleted(t *testing.T) {
	w := newWorld(t)
	w.succeed(one(deployer.PolicyManage, "ours"))
	object := w.configMap("one")
	w.change(object, func() { object.Annotations[inventory.OwnerAnnotation] = "elsewhere/item" })
	w.delete()
	if w.configMap("one") == nil {
		t.Error("the object of another item was deleted")
	}
}

// Somebody deleted our object and created another one with the same name.
func TestASuccessorOfTheSameNameIsNotDeleted(t *testing.T) {
	w := newWorld(t)
	w.succeed(one(deployer.PolicyManage, "ours"))
	w.Delete(w.configMap("one"))
	w.create(foreignConfigMap)
	w.delete()
	if w.configMap("one") == nil {
		t.Error("the object of somebody else was deleted")
	}
}

// Earlier controllers only set the label, to the plain name of the item.
func TestObjectsOfAnEarlierControllerAreTakenOver(t *testing.T) {
	for name, status := range map[string]string{
		"v1alpha1": `{"apiVersion":"manifest.deployer.landscaper.gardener.cloud/v1alpha1","kind":"ProviderStatus","managedResources":[
			{"apiVersion":"v1","kind":"ConfigMap","namespace":"NAMESPACE","name":"one"}]}`,
		"v1alpha2": `{"apiVersion":"manifest.deployer.landscaper.gardener.cloud/v1alpha2","kind":"ProviderStatus","managedResources":[
			{"policy":"fallback","resource":{"apiVersion":"v1","kind":"ConfigMap","namespace":"NAMESPACE","name":"one","uid":"UID"}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			old := w.create(fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: NAMESPACE, labels: {%s: item}}
data: {key: old}
`, manifestapi.ManagedDeployItemLabel))
			w.remember(strings.NewReplacer("NAMESPACE", w.Namespace, "UID", string(old.GetUID())).Replace(status))
			w.succeed(one(deployer.PolicyFallback, "new"))
			if object := w.configMap("one"); object.Data["key"] != "new" || object.Annotations[inventory.OwnerAnnotation] != w.Namespace+"/item" {
				t.Errorf("the object is %+v", object)
			}
			w.delete()
			if w.configMap("one") != nil {
				t.Error("it was not deleted")
			}
		})
	}
}

func TestTheLabelAloneIsNoProof(t *testing.T) {
	w := newWorld(t)
	w.create(fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: NAMESPACE, labels: {%s: item}}
data: {key: foreign}
`, manifestapi.ManagedDeployItemLabel))
	w.succeed(one(deployer.PolicyFallback, "ours"))
	if object := w.configMap("one"); object.Data["key"] != "foreign" {
		t.Errorf("the object is %+v", object)
	}
}
