// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"espalier.dev/internal/testkit"
)

func TestHooksRunAtTheirOccasions(t *testing.T) {
	w := newWorld(t)
	w.use(oneConfigMap + `
-- templates/hooks.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: installed, annotations: {helm.sh/hook: post-install}}, data: {key: x}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: upgraded, annotations: {helm.sh/hook: pre-upgrade}}, data: {key: x}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: deleted, annotations: {helm.sh/hook: post-delete}}, data: {key: x}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: passing, annotations: {helm.sh/hook: pre-install, helm.sh/hook-delete-policy: hook-succeeded}}, data: {key: x}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: test, annotations: {helm.sh/hook: test}}, data: {key: x}}
`)
	w.succeed("")
	if diff := cmp.Diff([]string{"installed=x", "one=default"}, w.content()); diff != "" {
		t.Error(diff)
	}
	w.succeed("values: {key: other}")
	if diff := cmp.Diff([]string{"installed=x", "one=other", "upgraded=x"}, w.content()); diff != "" {
		t.Error(diff)
	}
	w.delete()
	if diff := cmp.Diff([]string{"deleted=x", "installed=x", "upgraded=x"}, w.content()); diff != "" {
		t.Error(diff)
	}
}

const withJobHook = oneConfigMap + `
-- templates/job.yaml --
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {helm.sh/hook: "pre-install,pre-upgrade"}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: migrate, image: example/migrate}]}}}
`

// There are no nodes, so the job never completes.
func TestAHookThatDoesNotEndIsNamed(t *testing.T) {
	w := newWorld(t)
	w.use(withJobHook)
	w.timeOutOnce(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "migrate"}})
	_, err := w.deploy("")
	assertFailure(t, err, failed{
		reason: "installRelease", codes: []string{"ERR_TIMEOUT"},
		contains: []string{"install release " + w.namespace + "/shop", "the hook Job migrate (pre-install, pre-upgrade, shop/templates/job.yaml)", "timed out"},
	})
	if diff := cmp.Diff([]string{"1=failed"}, w.history("shop")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{}, w.content()); diff != "" {
		t.Errorf("something was deployed although the hook did not end: %s", diff)
	}
}

// An interrupt ends the call. When it returns, the operation has ended, and the record says so.
func TestAnInterruptEndsTheOperation(t *testing.T) {
	w := newWorld(t)
	w.use(withJobHook)
	w.configure("")
	if err := w.start(); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "migrate"}}
	testkit.Run(t, func(context.Context) error {
		testkit.Eventually(t, w.server, job, testkit.Is("created", func(*batchv1.Job) bool { return true }))
		interrupt()
		return nil
	})
	_, err := w.passIn(ctx)
	assertFailure(t, err, failed{reason: "installRelease", contains: []string{"interrupted", "the hook Job migrate"}})
	if diff := cmp.Diff([]string{"1=failed"}, w.history("shop")); diff != "" {
		t.Error(diff)
	}
	w.use(oneConfigMap)
	w.succeed("")
	if diff := cmp.Diff([]string{"one=default"}, w.content()); diff != "" {
		t.Error(diff)
	}
}

func TestAtomicTakesAFailedInstallationBack(t *testing.T) {
	w := newWorld(t)
	w.use(oneConfigMap + webDeployment)
	w.limit = time.Minute // A third of it must be enough to uninstall the release.
	_, err := w.deploy("helmDeploymentConfig: {install: {atomic: true}}")
	assertFailure(t, err, failed{reason: "installRelease", contains: []string{"uninstalled", "web"}})
	if diff := cmp.Diff([]string{}, w.content()); diff != "" {
		t.Error(diff)
	}
}

func TestWaitingUninstallationWaits(t *testing.T) {
	w := newWorld(t)
	w.use("\n-- templates/one.yaml --\n" + heldConfigMap)
	w.succeed("helmDeploymentConfig: {uninstall: {wait: true, timeout: 1s}}")
	w.beginDelete()
	w.limit = 30 * time.Second // enough for a slow machine to delete the object
	_, err := w.goOn()
	assertFailure(t, err, failed{reason: "uninstallRelease", contains: []string{"still exists"}})
	held := w.configMap("one")
	if held == nil || held.DeletionTimestamp == nil {
		t.Fatalf("the object is %+v", held)
	}
	w.release("one")
	w.limit = 0
	if _, err := w.goOn(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{}, w.history("shop")); diff != "" {
		t.Error(diff)
	}
}
