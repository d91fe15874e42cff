// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package externals_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/externals"
)

func TestFlux(t *testing.T) {
	t.Parallel()
	server := testkit.NewServer(t)
	externals.Flux(t, server)
	t.Run("a Kustomization follows Git", func(t *testing.T) { followGit(t, server) })
	t.Run("a HelmRelease is installed and upgraded", func(t *testing.T) { upgradeRelease(t, server) })
}

// status returns a field of the status of an object of Flux.
func status(object *unstructured.Unstructured, field string) string {
	text, _, _ := unstructured.NestedString(object.Object, "status", field)
	return text
}

// ready returns status and reason of the condition Ready, if it is about the current generation.
func ready(object *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, condition := range conditions {
		fields, _ := condition.(map[string]any)
		if fields["type"] == "Ready" && fields["observedGeneration"] == object.GetGeneration() {
			return fmt.Sprint(fields["status"], "/", fields["reason"])
		}
	}
	return ""
}

func manifest(value string) map[string]string {
	return map[string]string{"deploy/app.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {value: " + value + "}\n"}
}

func holds(value string) testkit.Condition[*corev1.ConfigMap] {
	return testkit.Is("holding "+value, func(c *corev1.ConfigMap) bool { return c.Data["value"] == value })
}

func followGit(t *testing.T, server *testkit.APIServer) {
	t.Parallel()
	namespace := server.Namespace(t)
	repository := externals.Gitea(t).Repository(t, manifest("one"))
	kustomization := externals.Kustomization(namespace, "app", "git", "./deploy")
	applied := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"}}
	at := func(sha string) testkit.Condition[*unstructured.Unstructured] {
		return testkit.Is("ready at "+sha, func(k *unstructured.Unstructured) bool {
			return status(k, "lastAppliedRevision") == "main@sha1:"+sha && strings.HasPrefix(ready(k), "True/")
		})
	}

	testkit.Create(t, server, append(externals.GitSource(namespace, "git", repository), kustomization)...)
	testkit.Eventually(t, server, kustomization, at(repository.Head(t, "main")))
	testkit.Eventually(t, server, applied, holds("one"))

	second := repository.Commit(t, "main", manifest("two"))
	testkit.Eventually(t, server, kustomization, at(second))
	testkit.Eventually(t, server, applied, holds("two"))

	broken := repository.Commit(t, "main", map[string]string{"deploy/app.yaml": "kind: [unfinished\n"})
	testkit.Eventually(
		t,
		server,
		kustomization,
		testkit.Is("failed, with only the attempt at the new revision", func(k *unstructured.Unstructured) bool {
			return ready(k) == "False/BuildFailed" && status(k, "lastAttemptedRevision") == "main@sha1:"+broken &&
				status(k, "lastAppliedRevision") == "main@sha1:"+second
		}),
	)

	repository.Commit(t, "mended", manifest("three"))
	merged := repository.Merge(t, repository.OpenPullRequest(t, "mended", "main").Number)
	testkit.Eventually(t, server, kustomization, at(merged.MergeCommit))
	testkit.Eventually(t, server, applied, holds("three"))
}

func chartTemplate(name string) map[string]string {
	return map[string]string{
		"app.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {value: \"{{ .Chart.Version }}\"}\n",
	}
}

// history lists the history of a HelmRelease, the newest entry first.
func history(release *unstructured.Unstructured) []string {
	entries, _, _ := unstructured.NestedSlice(release.Object, "status", "history")
	var lines []string
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		lines = append(lines, fmt.Sprint(fields["chartVersion"], " ", fields["status"]))
	}
	return lines
}

func upgradeRelease(t *testing.T, server *testkit.APIServer) {
	t.Parallel()
	namespace := server.Namespace(t)
	charts := externals.Charts(t)
	charts.Publish(t, "app", "1.0.0", chartTemplate("app"))
	charts.Publish(t, "app", "1.1.0", chartTemplate("app"))
	charts.Publish(t, "app", "1.2.0", chartTemplate("No_Name"))
	release := externals.HelmRelease(namespace, "app", externals.Chart{Source: "charts", Name: "app", Version: "1.0.0"})
	remembers := func(how string, lines ...string) testkit.Condition[*unstructured.Unstructured] {
		return testkit.Is(fmt.Sprintf("%s with history %q", how, lines), func(r *unstructured.Unstructured) bool {
			return ready(r) == how && slices.Equal(history(r), lines)
		})
	}
	upgrade := func(version string) {
		t.Helper()
		change := fmt.Appendf(nil, `{"spec":{"chart":{"spec":{"version":%q}}}}`, version)
		if err := server.Client().Patch(t.Context(), release.DeepCopy(), client.RawPatch("application/merge-patch+json", change)); err != nil {
			t.Fatal(err)
		}
	}

	testkit.Create(t, server, externals.HelmSource(namespace, "charts", charts), release)
	testkit.Eventually(t, server, release, remembers("True/InstallSucceeded", "1.0.0 deployed"))
	upgrade("1.1.0")
	testkit.Eventually(t, server, release, remembers("True/UpgradeSucceeded", "1.1.0 deployed", "1.0.0 superseded"))
	testkit.Eventually(t, server, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"}}, holds("1.1.0"))
	upgrade("1.2.0")
	failed := testkit.Eventually(
		t,
		server,
		release,
		remembers("False/UpgradeFailed", "1.2.0 failed", "1.1.0 deployed", "1.0.0 superseded"),
	)
	if status(failed, "lastAppliedRevision") != "" || status(failed, "lastAttemptedRevision") != "1.2.0" {
		t.Errorf("its revisions are %v", failed.Object["status"])
	}
}
