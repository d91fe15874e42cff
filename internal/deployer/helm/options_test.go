// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"espalier.dev/internal/testkit"
)

const webDeployment = `
-- templates/web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}
`

// makeReady writes the status of a Deployment, as the controllers of a cluster would.
func (w *world) makeReady(name string) {
	w.t.Helper()
	deployment := &appsv1.Deployment{}
	w.read(name, deployment)
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
		},
	}
	if err := w.server.Client().Status().Update(w.t.Context(), deployment); err != nil {
		w.t.Error(err)
	}
}

// foreign creates a ConfigMap that no deploy item owns.
func (w *world) foreign(name string, data map[string]string) types.UID {
	w.t.Helper()
	object := &corev1.ConfigMap{Data: data}
	object.Namespace, object.Name = w.namespace, name
	testkit.Create(w.t, w.server, object)
	return object.UID
}

// Without wait, the revision is deployed as soon as its objects are written, and the deployer waits for them. With wait, Helm waits for
// them, up to the item's deadline: Helm's own timeout has no effect.
func TestHelmWaitsForObjectsIfAsked(t *testing.T) {
	for _, c := range []struct {
		operation, options string
		meanwhile, after   []string
	}{
		{"install", "{}", []string{"1=deployed"}, []string{"1=deployed"}},
		{"install", "{wait: true, timeout: 1ms}", []string{"1=pending-install"}, []string{"1=deployed"}},
		{"upgrade", "{}", []string{"1=superseded", "2=deployed"}, []string{"1=superseded", "2=deployed"}},
		{"upgrade", "{wait: true, timeout: 1ms}", []string{"1=deployed", "2=pending-upgrade"}, []string{"1=superseded", "2=deployed"}},
	} {
		t.Run(c.operation+" "+c.options, func(t *testing.T) {
			w := newWorld(t)
			if c.operation == "upgrade" {
				w.use(oneConfigMap)
				w.succeed("")
			}
			w.server.EventuallyWatches(t, "deployments", 0)
			wait := testkit.Meanwhile(t, func() error {
				w.server.EventuallyWatches(t, "deployments", 1)
				if diff := cmp.Diff(c.meanwhile, w.history("shop")); diff != "" {
					t.Errorf("while it waits: %s", diff)
				}
				w.makeReady("web")
				return nil
			})
			w.use(oneConfigMap + webDeployment)
			w.succeed("helmDeploymentConfig: {" + c.operation + ": " + c.options + "}")
			wait()
			if diff := cmp.Diff(c.after, w.history("shop")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheTimeoutOfAnUninstallationHasNoEffect(t *testing.T) {
	w := newWorld(t)
	w.use("\n-- templates/one.yaml --\n" + heldConfigMap)
	w.succeed("helmDeploymentConfig: {uninstall: {wait: true, timeout: 1ms}}")
	held := w.configMap("one")
	wait := testkit.Meanwhile(t, func() error {
		testkit.Eventually(t, w.server, held, testkit.Is("being deleted", func(o *corev1.ConfigMap) bool { return o.DeletionTimestamp != nil }))
		w.release("one")
		return nil
	})
	w.delete()
	wait()
	if diff := cmp.Diff([]string{}, w.content()); diff != "" {
		t.Error(diff)
	}
}

const heldConfigMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: one, finalizers: [example.com/hold]}, data: {key: x}}\n"

// release removes the finalizers from a ConfigMap.
func (w *world) release(name string) {
	w.t.Helper()
	held := w.configMap(name)
	held.Finalizers = nil
	if err := w.server.Client().Update(w.t.Context(), held); err != nil {
		w.t.Error(err)
	}
}

// The API server rejects the Service after the ConfigMap was changed. With atomic, the previous revision is restored.
func TestAtomicTakesAFailedUpgradeBack(t *testing.T) {
	for _, c := range []struct {
		options          string
		content, history []string
	}{
		{"{}", []string{"one=second"}, []string{"1=deployed", "2=failed"}},
		{"{atomic: true}", []string{"one=first"}, []string{"1=superseded", "2=failed", "3=deployed"}},
	} {
		t.Run(c.options, func(t *testing.T) {
			w := newWorld(t)
			w.use(oneConfigMap)
			w.succeed("values: {key: first}")
			w.use(oneConfigMap + `
-- templates/wrong.yaml --
{apiVersion: v1, kind: Service, metadata: {name: wrong}, spec: {ports: [{port: 700000}]}}
`)
			_, err := w.deploy("{helmDeploymentConfig: {upgrade: " + c.options + "}, values: {key: second}}")
			assertFailure(t, err, failed{reason: "upgradeRelease", terminal: true, contains: []string{"spec.ports[0].port"}})
			if diff := cmp.Diff(c.content, w.content()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.history, w.history("shop")); diff != "" {
				t.Error(diff)
			}
			w.use(oneConfigMap)
			w.succeed("values: {key: third}")
			if diff := cmp.Diff([]string{"one=third"}, w.content()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An object of somebody else is rejected, adopted with its other content, or replaced. It is never deleted and recreated.
func TestObjectsOfOthersInTheWayOfARelease(t *testing.T) {
	for operation, reason := range map[string]string{"install": "installRelease", "upgrade": "upgradeRelease"} {
		for options, want := range map[string]map[string]string{
			"{}":                                 {"key": "theirs", "more": "theirs"},
			"{force: true}":                      {"key": "theirs", "more": "theirs"},
			"{takeOwnership: true}":              {"key": "second", "more": "theirs"},
			"{takeOwnership: true, force: true}": {"key": "second"},
		} {
			t.Run(operation+" "+options, func(t *testing.T) {
				w := newWorld(t)
				if operation == "upgrade" {
					w.use(oneConfigMap)
					w.succeed("")
				}
				uid := w.foreign("two", map[string]string{"key": "theirs", "more": "theirs"})
				w.use(twoConfigMaps)
				_, err := w.deploy("helmDeploymentConfig: {" + operation + ": " + options + "}")
				adopted := want["key"] == "second"
				if !adopted {
					named := `ConfigMap "two" in namespace "` + w.namespace + `"`
					assertFailure(t, err, failed{reason: reason, contains: []string{named, "cannot be imported"}})
				} else if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, w.configMap("two").Data); diff != "" || w.uid("two") != uid {
					t.Errorf("the object is another one: %v; %s", w.uid("two") != uid, diff)
				}
				w.delete()
				if left := w.configMap("two") != nil; left == adopted {
					t.Errorf("the object is there after the deletion: %v", left)
				}
			})
		}
	}
}

// With force, Helm writes the whole object, as far as the API server allows.
func TestForceDoesNotOvercomeTheAPIServer(t *testing.T) {
	w := newWorld(t)
	w.use(`
-- templates/one.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, immutable: true, data: {key: "{{ .Values.key }}"}}
`)
	w.succeed("values: {key: first}")
	_, err := w.deploy("{helmDeploymentConfig: {upgrade: {force: true}}, values: {key: second}}")
	assertFailure(t, err, failed{reason: "upgradeRelease", terminal: true, contains: []string{"immutable"}})
	if diff := cmp.Diff([]string{"one=first"}, w.content()); diff != "" {
		t.Error(diff)
	}
}

func TestTheSchemaIsSkippedForTheOperationThatSaysSo(t *testing.T) {
	w := newWorld(t)
	w.use(withSchema)
	w.succeed("values: {key: fine}")
	_, err := w.deploy("{helmDeploymentConfig: {install: {skipSchemaValidation: true}}, values: {key: Other-Than-The-Schema}}")
	assertFailure(t, err, failed{reason: "upgradeRelease", terminal: true, contains: []string{"key"}})
	if diff := cmp.Diff([]string{"1=deployed"}, w.history("shop")); diff != "" {
		t.Error(diff)
	}
	w.succeed("{helmDeploymentConfig: {upgrade: {skipSchemaValidation: true}}, values: {key: Other-Than-The-Schema}}")
	if diff := cmp.Diff([]string{"one=Other-Than-The-Schema"}, w.content()); diff != "" {
		t.Error(diff)
	}
}
