// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/testkit"
)

const (
	web = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: NAMESPACE}, spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}}`
	job = `{apiVersion: batch/v1, kind: Job, metadata: {name: job, namespace: NAMESPACE}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: job, image: job}]}}}}`
)

// setStatus writes a status, as the controller of the object would.
func (w *world) setStatus(object client.Object, how func()) {
	w.Helper()
	how()
	if err := w.Client().Status().Update(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

// waits runs a job until it waits, and checks for what.
func (w *world) waits(text, code string, words ...string) {
	w.Helper()
	w.configure(text)
	if err := w.start(); err != nil {
		w.Fatal(err)
	}
	progress, err := w.pass()
	if err != nil || progress.Done {
		w.Fatalf("done %t, %v", progress.Done, err)
	}
	if progress.Waiting.Code != code || progress.Recheck <= 0 {
		w.Fatalf("waits for %+v, want %s, and looks again in %s", progress.Waiting, code, progress.Recheck)
	}
	for _, word := range words {
		if !strings.Contains(progress.Waiting.Message, replace(word, "NAMESPACE", w.Namespace)) {
			w.Errorf("the message is %q, want %q in it", progress.Waiting.Message, word)
		}
	}
}

func (w *world) roll(name string) {
	w.Helper()
	deployment := &appsv1.Deployment{}
	w.read(name, deployment)
	w.setStatus(deployment, func() {
		deployment.Status = appsv1.DeploymentStatus{
			ObservedGeneration: deployment.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
			Conditions: []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue},
				{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
			},
		}
	})
}

func TestADeploymentIsAwaitedByItsEvents(t *testing.T) {
	w := newWorld(t)
	w.waits(these(web, one1), cluster.WaitingForReadiness, "Deployment NAMESPACE/web")
	seen := len(w.transport.Log())
	w.endsAfter(func() { w.roll("web") })
	for _, request := range w.requests(&seen) {
		if request != "get deployments" {
			t.Errorf("after the first pass there was %s", request)
		}
	}
	w.waits(these(replace(web, "image: web", "image: new"), one1), cluster.WaitingForReadiness, "Deployment NAMESPACE/web")
	w.endsAfter(func() { w.roll("web") })
}

func TestADeploymentIsAwaitedAfterARestart(t *testing.T) {
	w := newWorld(t)
	w.waits(these(web), cluster.WaitingForReadiness)
	w.restart()
	seen := len(w.transport.Log())
	if progress, err := w.pass(); err != nil || progress.Done {
		t.Fatalf("%+v, %v", progress, err)
	}
	if got := w.requests(&seen); !allGets(got) {
		t.Errorf("the requests were %v", got)
	}
	w.endsAfter(func() { w.roll("web") })
}

func TestDefaultReadinessCanBeTurnedOff(t *testing.T) {
	w := newWorld(t)
	w.succeed("readinessChecks: {disableDefault: true}\n" + these(web, job))
}

func TestAnObjectThatDisappearsIsAppliedAgain(t *testing.T) {
	w := newWorld(t)
	w.waits(these(web), cluster.WaitingForReadiness)
	deployment := &appsv1.Deployment{}
	w.read("web", deployment)
	w.Delete(deployment)
	if _, err := w.pass(); failure.KindOf(err) != failure.Retryable || err == nil {
		t.Fatalf("the error is %v", err)
	}
	if progress, err := w.pass(); err != nil || progress.Waiting.Code != cluster.WaitingForReadiness {
		t.Fatalf("%+v, %v", progress, err)
	}
	w.endsAfter(func() { w.roll("web") })
}

func TestAJobIsAwaitedToItsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		condition batchv1.JobConditionType
		kind      failure.Kind
		fails     bool
	}{
		"it completes": {condition: batchv1.JobComplete},
		"it fails":     {condition: batchv1.JobFailed, kind: failure.Terminal, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.waits(these(job), cluster.WaitingForReadiness, "Job NAMESPACE/job", "not complete")
			object := &batchv1.Job{}
			w.read("job", object)
			_, err := w.goOnAfter(func() { w.setStatus(object, func() { finish(object, c.condition) }) })
			if (err != nil) != c.fails || failure.KindOf(err) != c.kind {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// finish writes the fields that the API server requires of a finished Job.
func finish(job *batchv1.Job, end batchv1.JobConditionType) {
	now := metav1.Now()
	job.Status.StartTime = &now
	before := batchv1.JobSuccessCriteriaMet
	if end == batchv1.JobComplete {
		job.Status.CompletionTime, job.Status.Succeeded = &now, 1
	} else {
		before = batchv1.JobFailureTarget
	}
	for _, kind := range []batchv1.JobConditionType{before, end} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type:    kind,
			Status:  corev1.ConditionTrue,
			Message: "it has ended",
		})
	}
}

func check(selector, requirement string) string {
	return "readinessChecks: {custom: [{name: mine, " + selector + ", requirements: [" + requirement + "]}]}\n"
}

const selectOne = "resourceSelector: [{apiVersion: v1, kind: ConfigMap, name: one, namespace: NAMESPACE}]"

func TestOperatorsOfCustomChecks(t *testing.T) {
	for requirement, holds := range map[string]bool{
		"{jsonPath: .data.key, operator: exists}":                                   true,
		"{jsonPath: data.key, operator: exists}":                                    true,
		"{jsonPath: .data.other, operator: exists}":                                 false,
		"{jsonPath: .data.key, operator: '!'}":                                      false,
		"{jsonPath: .data.other, operator: '!'}":                                    true,
		"{jsonPath: .data.key, operator: '=', values: [{value: value}]}":            true,
		"{jsonPath: .data.key, operator: '==', values: [{value: value}]}":           true,
		"{jsonPath: .data.key, operator: '==', values: [{value: other}]}":           false,
		"{jsonPath: .data.other, operator: '==', values: [{value: null}]}":          false,
		"{jsonPath: .data.key, operator: '!=', values: [{value: other}]}":           true,
		"{jsonPath: .data.key, operator: '!=', values: [{value: value}]}":           false,
		"{jsonPath: .data.key, operator: in, values: [{value: a}, {value: value}]}": true,
		"{jsonPath: .data.key, operator: in, values: [{value: a}, {value: b}]}":     false,
		"{jsonPath: .data.key, operator: notin, values: [{value: a}, {value: b}]}":  true,
		"{jsonPath: .data.key, operator: notin, values: [{value: value}]}":          false,
		"{jsonPath: .data, operator: '==', values: [{value: {key: value}}]}":        true,
		"{jsonPath: .immutable, operator: '==', values: [{value: true}]}":           true,
		"{jsonPath: '.metadata.ownerReferences[*].name', operator: exists}":         false,
		"{jsonPath: '.metadata.labels.a\\.b/c', operator: '!'}":                     true,
	} {
		t.Run(requirement, func(t *testing.T) {
			w := newWorld(t)
			text := check(selectOne, requirement) + these(replace(one1, ", data:", ", immutable: true, data:"))
			if holds {
				w.succeed(text)
				return
			}
			w.waits(text, cluster.WaitingForCheck, "mine", "ConfigMap NAMESPACE/one")
		})
	}
}

func TestACustomCheckIsAwaitedByEvents(t *testing.T) {
	w := newWorld(t)
	w.waits(check(selectOne, "{jsonPath: .data.ready, operator: '==', values: [{value: 'yes'}]}"), cluster.WaitingForCheck, "does not exist")
	w.endsAfter(func() {
		object := w.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: NAMESPACE}}`)
		w.change(object, func() { object.Object["data"] = map[string]any{"ready": "yes"} })
	})
}

func TestACustomCheckByLabel(t *testing.T) {
	w := newWorld(t)
	text := check(
		"labelSelector: {apiVersion: v1, kind: ConfigMap, matchLabels: {world: NAMESPACE}}",
		"{jsonPath: .data.ready, operator: exists}",
	)
	w.waits(text, cluster.WaitingForCheck, "mine", "no object has the labels")
	w.endsAfter(func() {
		w.create(
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: NAMESPACE, labels: {world: NAMESPACE}}, data: {ready: "yes"}}`,
		)
	})
	object := w.configMap("one")
	w.change(object, func() { object.Data = nil })
	w.waits(text, cluster.WaitingForCheck, "mine", "ConfigMap NAMESPACE/one")
	w.endsAfter(func() { w.change(object, func() { object.Data = map[string]string{"ready": "yes"} }) })
}

func TestADisabledCheckIsNotMade(t *testing.T) {
	w := newWorld(t)
	w.succeed(
		replace(check(selectOne, "{jsonPath: .data.never, operator: exists}"), "name: mine", "name: mine, disabled: true") + these(one1),
	)
}

func TestExports(t *testing.T) {
	second := testkit.NewServer(t)
	w := newWorld(t)
	w.targets["second"] = testkit.Target(w.Namespace, "second").Cluster(t, second).Build()
	there := second.Namespace(t)
	object := &corev1.ConfigMap{Data: map[string]string{"key": "there"}}
	object.Namespace, object.Name = there, "far"
	if err := second.Client().Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	progress := w.succeed(`
exports:
  defaultTimeout: 5m
  exports:
  - {key: plain, timeout: 10m, jsonPath: .data.key, fromResource: {apiVersion: v1, kind: ConfigMap, name: one, namespace: NAMESPACE}}
  - {key: map, jsonPath: .data, fromResource: {apiVersion: v1, kind: ConfigMap, name: one, namespace: NAMESPACE}}
  - {key: number, jsonPath: '.spec.ports[0].port', fromResource: {apiVersion: v1, kind: Service, name: service, namespace: NAMESPACE}}
  - {key: several, jsonPath: '.spec.ports[*].port', fromResource: {apiVersion: v1, kind: Service, name: service, namespace: NAMESPACE}}
  - {key: far, jsonPath: .data.key, targetName: second, fromResource: {apiVersion: v1, kind: ConfigMap, name: far, namespace: ` + there + `}}
  - key: referred
    jsonPath: .imagePullSecrets[0]
    fromResource: {apiVersion: v1, kind: ServiceAccount, name: account, namespace: NAMESPACE}
    fromObjectRef: {apiVersion: v1, kind: Secret, jsonPath: .data.password}
` + these(
		one1,
		`{apiVersion: v1, kind: ServiceAccount, metadata: {name: account, namespace: NAMESPACE}, imagePullSecrets: [{name: secret}]}`,
		`{apiVersion: v1, kind: Secret, metadata: {name: secret, namespace: NAMESPACE}, stringData: {password: hunter2}}`,
		`{apiVersion: v1, kind: Service, metadata: {name: service, namespace: NAMESPACE}, spec: {ports: [{name: a, port: 80}, {name: b, port: 81}]}}`,
	))
	want := map[string]any{
		"plain": "value", "map": map[string]any{"key": "value"}, "number": int64(80), "several": []any{int64(80), int64(81)},
		"far": "there", "referred": "aHVudGVyMg==",
	}
	if diff := cmp.Diff(want, progress.Exports); diff != "" {
		t.Error(diff)
	}
}

func TestAnExportIsAwaitedByEvents(t *testing.T) {
	w := newWorld(t)
	text := "exports: {exports: [{key: mine, jsonPath: .data.late, fromResource: {apiVersion: v1, kind: ConfigMap, name: one, namespace: NAMESPACE}}]}\n" + these(
		one1,
	)
	w.waits(text, cluster.WaitingForExport, "export mine", "ConfigMap NAMESPACE/one", ".data.late")
	object := w.configMap("one")
	progress := w.endsAfter(func() { w.change(object, func() { object.Data["late"] = "here" }) })
	if progress.Exports["mine"] != "here" {
		t.Errorf("%+v", progress)
	}
}

func TestAnExportThatIsNoReference(t *testing.T) {
	w := newWorld(t)
	_, err := w.deploy(
		"exports: {exports: [{key: mine, jsonPath: .data.key, fromObjectRef: {apiVersion: v1, kind: Secret, jsonPath: .data}, fromResource: {apiVersion: v1, kind: ConfigMap, name: one, namespace: NAMESPACE}}]}\n" + these(
			one1,
		),
	)
	if failure.KindOf(err) != failure.Terminal || !strings.Contains(err.Error(), "export mine") {
		t.Errorf("the error is %v", err)
	}
}

func TestThePatchAfterDeploymentComesLast(t *testing.T) {
	w := newWorld(t)
	text := `
manifests:
- patchAfterDeployment: {data: {state: done}}
  manifest: ` + one1 + `
- manifest: ` + web
	w.waits(text, cluster.WaitingForReadiness)
	if object := w.configMap("one"); object.Data["state"] != "" {
		t.Error("it was patched before everything was ready")
	}
	w.endsAfter(func() { w.roll("web") })
	if object := w.configMap("one"); object.Data["state"] != "done" {
		t.Errorf("it was not patched: %v", object.Data)
	}
	// The next job removes the patch while it works.
	w.waits(replace(text, "image: web", "image: new"), cluster.WaitingForReadiness)
	if object := w.configMap("one"); object.Data["state"] != "" {
		t.Error("the patch of the last job is still there")
	}
	w.endsAfter(func() { w.roll("web") })
	if object := w.configMap("one"); object.Data["state"] != "done" {
		t.Errorf("it was not patched again: %v", object.Data)
	}
}
