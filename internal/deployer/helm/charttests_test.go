// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	release "helm.sh/helm/v4/pkg/release/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"espalier.dev/internal/testkit"
)

const (
	// withQuickTests has tests that succeed because they exist.
	withQuickTests = oneConfigMap + `
-- templates/tests/quick.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: first, annotations: {helm.sh/hook: test, helm.sh/hook-weight: "1"}}
data: {key: "{{ .Values.key }}"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: second, annotations: {helm.sh/hook: test-success, helm.sh/hook-weight: "2"}}
data: {key: x}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: passing, annotations: {helm.sh/hook: test, helm.sh/hook-delete-policy: hook-succeeded}}
data: {key: x}
`
	withTestPod = oneConfigMap + `
-- templates/tests/pod.yaml --
apiVersion: v1
kind: Pod
metadata: {name: check, annotations: {helm.sh/hook: test}}
spec: {restartPolicy: Never, containers: [{name: look, image: example/check}]}
`
	withTestJob = oneConfigMap + `
-- templates/tests/job.yaml --
apiVersion: batch/v1
kind: Job
metadata: {name: check, annotations: {helm.sh/hook: test}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: look, image: example/check}]}}}
`
	// asking is the configuration that enables the tests of the chart.
	asking = "helmDeploymentConfig: {install: {test: true}}"
)

// drop deletes a ConfigMap.
func (w *world) drop(name string) {
	w.t.Helper()
	if err := w.server.Client().Delete(w.t.Context(), w.configMap(name)); err != nil {
		w.t.Fatal(err)
	}
}

func TestTestsRunOnceForEachRevisionThatAsksForThem(t *testing.T) {
	w := newWorld(t)
	w.use(withQuickTests)
	w.succeed("helmDeploymentConfig: {upgrade: {test: true}}")
	if diff := cmp.Diff([]string{"one=default"}, w.content()); diff != "" {
		t.Errorf("after an installation that asks for no tests: %s", diff)
	}
	w.succeed(asking)
	if diff := cmp.Diff([]string{"first=default", "one=default", "second=x"}, w.content()); diff != "" {
		t.Errorf("after a job that asks for tests of the same revision: %s", diff)
	}
	w.drop("first")
	w.restart()
	w.succeed(asking)
	if diff := cmp.Diff([]string{"one=default", "second=x"}, w.content()); diff != "" {
		t.Errorf("tests that have succeeded run again: %s", diff)
	}
	w.succeed("{" + asking + ", values: {key: other}}")
	if diff := cmp.Diff([]string{"one=other", "second=x"}, w.content()); diff != "" {
		t.Errorf("after an upgrade that asks for no tests: %s", diff)
	}
	w.succeed("{helmDeploymentConfig: {upgrade: {test: true}}, values: {key: third}}")
	if diff := cmp.Diff([]string{"first=third", "one=third", "second=x"}, w.content()); diff != "" {
		t.Errorf("after an upgrade that asks for tests: %s", diff)
	}
	if diff := cmp.Diff([]string{"1=superseded", "2=superseded", "3=deployed"}, w.history("shop")); diff != "" {
		t.Error(diff)
	}
}

// ends plays the node: it ends the pod of a test.
func (w *world) ends(pod *corev1.Pod, phase corev1.PodPhase, code int32) {
	w.t.Helper()
	testkit.Run(w.t, func(context.Context) error {
		pending := testkit.Is("pending", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodPending })
		made := testkit.Eventually(w.t, w.server, pod, pending)
		made.Status.Phase = phase
		made.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "look", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}},
		}}
		return w.server.Client().Status().Update(w.t.Context(), made)
	})
}

func (w *world) testPod() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "check"}}
}

// A failed test ends the job and undoes nothing. The next job runs it again.
func TestAFailedTestEndsTheJob(t *testing.T) {
	w := newWorld(t)
	w.use(withTestPod)
	w.ends(w.testPod(), corev1.PodFailed, 3)
	_, err := w.deploy(asking)
	assertFailure(t, err, failed{reason: "testRelease", terminal: true, contains: []string{
		"test release " + w.namespace + "/shop: the test Pod " + w.namespace + "/check (shop/templates/tests/pod.yaml) failed",
		"container look ended with exit code 3", "Its log is empty",
	}})
	if diff := cmp.Diff([]string{"1=deployed"}, w.history("shop")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"one=default"}, w.content()); diff != "" {
		t.Error(diff)
	}
	first := w.testPod()
	w.read("check", first)
	w.restart()
	w.configure(asking)
	if err := w.start(); err != nil {
		t.Fatal(err)
	}
	wait := testkit.Meanwhile(t, func() error {
		again := testkit.Eventually(t, w.server, w.testPod(), testkit.Is("another one", func(p *corev1.Pod) bool { return p.UID != first.UID }))
		again.Status.Phase = corev1.PodSucceeded
		return w.server.Client().Status().Update(t.Context(), again)
	})
	if _, err := w.goOn(); err != nil {
		t.Fatal(err)
	}
	wait()
	if phase := w.revisions("shop")[0].Hooks[0].LastRun.Phase; phase != release.HookPhaseSucceeded {
		t.Errorf("the record says of the test that it is %s", phase)
	}
	w.delete()
	if diff := cmp.Diff([]string{}, w.history("shop")); diff != "" {
		t.Error(diff)
	}
}

func TestTheFailedPodOfAJobIsNamed(t *testing.T) {
	w := newWorld(t)
	w.use(withTestJob)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "check"}}
	wait := testkit.Meanwhile(t, func() error {
		made := testkit.Eventually(t, w.server, job, testkit.Is("created", func(*batchv1.Job) bool { return true }))
		pod := w.testPod()
		pod.Name, pod.Labels, pod.Spec = "check-x", made.Spec.Template.Labels, made.Spec.Template.Spec
		pod.Spec.NodeName = "gone"
		if err := w.server.Client().Create(t.Context(), pod); err != nil {
			return err
		}
		pod.Status.Phase = corev1.PodFailed
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "look", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 4}},
		}}
		if err := w.server.Client().Status().Update(t.Context(), pod); err != nil {
			return err
		}
		return w.fail(made)
	})
	_, err := w.deploy(asking)
	wait()
	assertFailure(t, err, failed{reason: "testRelease", terminal: true, contains: []string{
		"the test Job " + w.namespace + "/check (shop/templates/tests/job.yaml) failed",
		"container look of Pod " + w.namespace + "/check-x ended with exit code 4. Its log cannot be read: ",
	}})
}

// fail plays the job controller.
func (w *world) fail(job *batchv1.Job) error {
	now := metav1.Now()
	job.Status.StartTime, job.Status.Failed = &now, 1
	for _, condition := range []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobFailed} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: condition, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded", LastTransitionTime: now,
		})
	}
	return w.server.Client().Status().Update(w.t.Context(), job)
}

// There are no nodes, so the pod never runs. The next job starts the test again.
func TestATestThatDoesNotEndIsNamed(t *testing.T) {
	w := newWorld(t)
	w.use(withTestPod)
	w.succeed("")
	w.timeOutOnce(w.testPod())
	_, err := w.deploy(asking)
	assertFailure(t, err, failed{reason: "testRelease", codes: []string{"ERR_TIMEOUT"}, contains: []string{
		"the test Pod " + w.namespace + "/check (shop/templates/tests/pod.yaml)", "timed out",
	}})
	if diff := cmp.Diff([]string{"1=deployed"}, w.history("shop")); diff != "" {
		t.Error(diff)
	}
}

// A test whose object the cluster rejects counts as not run, not as failed.
func TestATestThatCannotBeMadeIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.use(oneConfigMap + `
-- templates/tests/elsewhere.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: check, namespace: nowhere, annotations: {helm.sh/hook: test}}}
`)
	_, err := w.deploy(asking)
	assertFailure(t, err, failed{reason: "testRelease", contains: []string{
		"the test ConfigMap nowhere/check (shop/templates/tests/elsewhere.yaml)", "not found",
	}})
}

// If somebody upgrades the release between the operation and its tests, the other revision is not tested instead.
func TestAnotherRevisionIsNotTestedInItsPlace(t *testing.T) {
	w := newWorld(t)
	w.use(withQuickTests + `
-- templates/slow.yaml --
{apiVersion: v1, kind: Pod, metadata: {name: slow}, spec: {containers: [{name: a, image: example/a}]}}
`)
	w.configure(asking)
	if err := w.start(); err != nil {
		t.Fatal(err)
	}
	if progress, err := w.pass(); err != nil || progress.Done {
		t.Fatalf("it does not wait for its pod: %+v, %v", progress, err)
	}
	theirs := w.revisions("shop")[0]
	theirs.Version++
	if err := w.releases().Create(theirs); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{}
	w.read("slow", pod)
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if err := w.server.Client().Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	_, err := w.goOn()
	assertFailure(t, err, failed{reason: "testRelease", contains: []string{"revision 1 is no longer the latest"}})
	if left := w.content(); slices.Contains(left, "first=default") {
		t.Errorf("it was tested: %v", left)
	}
}
