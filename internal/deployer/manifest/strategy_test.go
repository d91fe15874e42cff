// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	manifestapi "espalier.dev/api/deployer/manifest/v1alpha2"
	"espalier.dev/internal/deployer/objects/inventory"
)

const (
	strategyBefore = `
manifests:
- manifest:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: one, namespace: NAMESPACE, annotations: {gone: soon, stays: here}}
    data: {gone: a, changed: a, same: a}
`
	strategyAfter = `
manifests:
- manifest:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: one, namespace: NAMESPACE, annotations: {stays: here}}
    data: {changed: b, same: a, new: b}
`
)

func TestStrategies(t *testing.T) {
	for strategy, want := range map[manifestapi.UpdateStrategy]struct {
		data   map[string]string
		writes []string
		gone   bool
	}{
		"":       {map[string]string{"changed": "b", "same": "a", "new": "b"}, []string{"get configmaps", "update configmaps"}, true},
		"update": {map[string]string{"changed": "b", "same": "a", "new": "b"}, []string{"get configmaps", "update configmaps"}, true},
		"patch":  {map[string]string{"changed": "b", "same": "a", "new": "b"}, []string{"get configmaps", "patch configmaps"}, true},
		"merge": {
			data:   map[string]string{"gone": "a", "changed": "a", "same": "a", "new": "b", "foreign": "x"},
			writes: []string{"get configmaps", "update configmaps"},
		},
		"mergeOverwrite": {
			data:   map[string]string{"gone": "a", "changed": "b", "same": "a", "new": "b", "foreign": "x"},
			writes: []string{"get configmaps", "update configmaps"},
		},
		"serverSideApply": {
			data:   map[string]string{"changed": "b", "same": "a", "new": "b", "foreign": "x"},
			writes: []string{"get configmaps", "patch configmaps", "patch configmaps"}, gone: true,
		},
	} {
		t.Run("strategy "+string(strategy), func(t *testing.T) {
			w := newWorld(t)
			seen := 0
			head := "updateStrategy: " + string(strategy) + "\n"
			w.succeed(head + strategyBefore)
			object := w.configMap("one")
			w.change(object, func() {
				object.Data["foreign"], object.Annotations["foreign"] = "x", "x"
				object.Finalizers = []string{"example.com/foreign"}
			})
			w.requests(&seen)
			w.succeed(head + strategyAfter)
			if got := w.requests(&seen); !slices.Equal(got, want.writes) {
				t.Errorf("the requests were %v, want %v", got, want.writes)
			}
			object = w.configMap("one")
			if diff := cmp.Diff(want.data, object.Data); diff != "" {
				t.Error(diff)
			}
			names := slices.Sorted(maps.Keys(object.Annotations))
			wantNames := []string{"foreign", inventory.OwnerAnnotation, "stays"}
			if !want.gone {
				wantNames = []string{"foreign", "gone", inventory.OwnerAnnotation, "stays"}
			}
			if !slices.Equal(names, wantNames) || len(object.Finalizers) != 1 {
				t.Errorf("annotations %v, finalizers %v", names, object.Finalizers)
			}
			w.requests(&seen)
			w.succeed(head + strategyAfter)
			if got := w.requests(&seen); !slices.Equal(got, []string{"get configmaps"}) {
				t.Errorf("without a change the requests were %v", got)
			}
		})
	}
}

// Only the hash of the fields shows that a field was removed: everything left in the manifest is satisfied.
func TestAFieldThatGoesFromTheManifest(t *testing.T) {
	for strategy, left := range map[string]bool{
		"update":          false,
		"patch":           false,
		"serverSideApply": false,
		"merge":           true,
		"mergeOverwrite":  true,
	} {
		t.Run(strategy, func(t *testing.T) {
			w := newWorld(t)
			head := "updateStrategy: " + strategy + "\n"
			long := replace(one1, "data: {key: value}", "data: {key: value, more: value}")
			w.succeed(head + these(replace(long, "name: one", "name: one, finalizers: [example.com/ours]")))
			w.succeed(head + these(one1))
			object := w.configMap("one")
			if _, there := object.Data["more"]; there != left {
				t.Errorf("the field is there: %v", there)
			}
			if there := len(object.Finalizers) > 0; there != left {
				t.Errorf("the finalizer is there: %v", there)
			}
		})
	}
}

// While fields are only added, or nothing is changed, fields removed from the manifest stay. They are removed when the strategy or
// the policy changes to one that removes them.
func TestAFieldThatWentEarlier(t *testing.T) {
	long := replace(one1, "data: {key: value}", "data: {key: value, more: value}")
	for name, meanwhile := range map[string]string{
		"strategy merge":          "updateStrategy: merge\n" + these(one1),
		"strategy mergeOverwrite": "updateStrategy: mergeOverwrite\n" + these(one1),
		"policy immutable":        "manifests: [{policy: immutable, manifest: " + one1 + "}]",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.succeed(these(long))
			w.succeed(meanwhile)
			if object := w.configMap("one"); object.Data["more"] == "" {
				t.Error("it was taken away at once")
			}
			w.succeed(these(one1))
			if object := w.configMap("one"); object.Data["more"] != "" {
				t.Error("it is still there")
			}
		})
	}
}

// Defaults of the API server must neither count as differences nor be removed.
const fullKinds = `
manifests:
- manifest:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web, namespace: NAMESPACE}
    spec:
      selector: {matchLabels: {app: web}}
      template:
        metadata: {creationTimestamp: null, labels: {app: web}}
        spec:
          hostNetwork: false
          containers:
          - name: web
            image: web:VERSION
            ports: [{containerPort: 80}]
            resources: {limits: {cpu: 1000m, memory: 1024Mi}, requests: {cpu: "0.5"}}
            env: [{name: A, value: a}]
- manifest:
    apiVersion: v1
    kind: Service
    metadata: {name: web, namespace: NAMESPACE, labels: {version: VERSION}}
    spec:
      type: NodePort
      selector: {app: web}
      ports: [{port: 80, targetPort: 80}]
- manifest:
    apiVersion: v1
    kind: Secret
    metadata: {name: web, namespace: NAMESPACE}
    stringData: {password: VERSION}
- manifest:
    apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {name: web, namespace: NAMESPACE, labels: {version: VERSION}}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}
- manifest:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: web, namespace: NAMESPACE, labels: {version: VERSION}}
    spec:
      template:
        spec: {restartPolicy: Never, containers: [{name: web, image: web}]}
- manifest:
    apiVersion: v1
    kind: Pod
    metadata: {name: web, namespace: NAMESPACE}
    spec: {containers: [{name: web, image: "web:VERSION"}]}
- manifest:
    apiVersion: v1
    kind: ServiceAccount
    metadata: {name: web, namespace: NAMESPACE}
- manifest:
    apiVersion: rbac.authorization.k8s.io/v1
    kind: Role
    metadata: {name: web, namespace: NAMESPACE}
    rules: [{apiGroups: [""], resources: [secrets], verbs: [get, VERSION]}]
readinessChecks: {disableDefault: true}
`

func TestKindsThatTheServerCompletes(t *testing.T) {
	for _, strategy := range []string{"update", "patch", "mergeOverwrite", "serverSideApply"} {
		t.Run(strategy, func(t *testing.T) {
			w := newWorld(t)
			w.create("{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: NAMESPACE}}")
			text := func(version string) string {
				return "updateStrategy: " + strategy + "\n" + replace(fullKinds, "VERSION", version)
			}
			w.succeed(text("v1"))
			w.occupy()
			seen := 0
			w.requests(&seen)
			w.succeed(text("v1"))
			if got := w.requests(&seen); len(got) != 8 || !allGets(got) {
				t.Errorf("without a change the requests were %v", got)
			}
			w.succeed(text("v2"))
			w.checkOccupied()
			w.requests(&seen)
			w.succeed(text("v2"))
			if got := w.requests(&seen); len(got) != 8 || !allGets(got) {
				t.Errorf("after the change the requests were %v", got)
			}
		})
	}
}

func allGets(requests []string) bool {
	return !slices.ContainsFunc(requests, func(r string) bool { return r[:4] != "get " })
}

// occupy changes the objects like controllers: it scales, binds and adds labels.
func (w *world) occupy() {
	w.Helper()
	deployment := &appsv1.Deployment{}
	w.read("web", deployment)
	w.change(deployment, func() {
		three := int32(3)
		deployment.Spec.Replicas = &three
		deployment.Annotations["deployment.kubernetes.io/revision"] = "1"
	})
	claim := &corev1.PersistentVolumeClaim{}
	w.read("web", claim)
	w.change(claim, func() { claim.Spec.VolumeName = "volume" })
}

func (w *world) checkOccupied() {
	w.Helper()
	deployment, claim, service := &appsv1.Deployment{}, &corev1.PersistentVolumeClaim{}, &corev1.Service{}
	secret, job, pod := &corev1.Secret{}, &batchv1.Job{}, &corev1.Pod{}
	w.read("web", deployment)
	w.read("web", claim)
	w.read("web", service)
	w.read("web", secret)
	w.read("web", job)
	w.read("web", pod)
	if *deployment.Spec.Replicas != 3 || deployment.Annotations["deployment.kubernetes.io/revision"] != "1" ||
		deployment.Spec.Template.Spec.Containers[0].Image != "web:v2" {
		w.Errorf("the deployment is %+v", deployment)
	}
	if claim.Spec.VolumeName != "volume" || claim.Labels["version"] != "v2" {
		w.Errorf("the claim is %+v", claim)
	}
	if service.Spec.ClusterIP == "" || service.Spec.Ports[0].NodePort == 0 || service.Labels["version"] != "v2" {
		w.Errorf("the service is %+v", service)
	}
	if string(secret.Data["password"]) != "v2" || job.Labels["version"] != "v2" || pod.Spec.Containers[0].Image != "web:v2" {
		w.Errorf("secret %v, job %v, pod %v", len(secret.Data), job.Labels, pod.Spec.Containers)
	}
}

func TestAnnotationsForCreationStay(t *testing.T) {
	w := newWorld(t)
	text := func(value string) string {
		return replace(`
manifests:
- annotateBeforeCreate: {created: here}
  manifest:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: one, namespace: NAMESPACE}
    data: {key: VALUE}
`, "VALUE", value)
	}
	w.succeed(text("a"))
	w.succeed(text("b"))
	if object := w.configMap("one"); object.Annotations["created"] != "here" || object.Data["key"] != "b" {
		t.Errorf("the object is %+v", object)
	}
	object := w.configMap("one")
	w.change(object, func() { delete(object.Annotations, "created") })
	w.succeed(text("c"))
	if object := w.configMap("one"); object.Annotations["created"] != "" {
		t.Error("the annotation for the creation was added to an object that existed")
	}
}
