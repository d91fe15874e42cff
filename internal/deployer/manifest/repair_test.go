// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"espalier.dev/deployer"
)

func (w *world) repair() deployer.Progress {
	w.Helper()
	progress, err := w.deployer.Repair(w.Context(), w.work())
	if err != nil {
		w.Fatal(err)
	}
	if progress.ProviderStatus != nil {
		w.store(progress.ProviderStatus)
	}
	return progress
}

func TestDriftIsRepaired(t *testing.T) {
	w := newWorld(t)
	w.succeed(`
readinessChecks: {disableDefault: true}
continuousReconcile: {every: 1h}
manifests:
- patchAfterDeployment: {data: {state: done}}
  manifest: ` + one1 + `
- manifest: ` + two2 + `
- {policy: immutable, manifest: ` + secret + `}
- manifest: ` + web)
	seen := 0
	w.requests(&seen)
	if progress := w.repair(); progress.Repaired != "" || progress.ProviderStatus != nil || !progress.Done {
		t.Errorf("without drift: %+v", progress)
	}
	if got := w.requests(&seen); len(got) != 4 || !allGets(got) {
		t.Errorf("without drift the requests were %v", got)
	}
	// A scaled Deployment and an added key are no drift; a changed value and a missing object are.
	deployment := &appsv1.Deployment{}
	w.read("web", deployment)
	w.change(deployment, func() { three := int32(3); deployment.Spec.Replicas = &three })
	first := w.configMap("one")
	w.change(first, func() { first.Data["key"], first.Data["foreign"] = "changed", "stays" })
	w.Delete(w.configMap("two"))
	w.requests(&seen)
	progress := w.repair()
	if want := "corrected ConfigMap " + w.Namespace + "/one, created ConfigMap " + w.Namespace + "/two"; progress.Repaired != want {
		t.Errorf("repaired: %q, want %q", progress.Repaired, want)
	}
	got := w.requests(&seen)
	got = slices.DeleteFunc(got, func(r string) bool { return strings.HasPrefix(r, "get ") })
	slices.Sort(got)
	if !slices.Equal(got, []string{"create configmaps", "update configmaps"}) {
		t.Errorf("the writes were %v", got)
	}
	if first := w.configMap("one"); first.Data["key"] != "value" || first.Data["state"] != "done" {
		t.Errorf("the object is %v", first.Data)
	}
	if progress := w.repair(); progress.Repaired != "" {
		t.Errorf("after the repair: %+v", progress)
	}
	w.delete()
	if w.configMap("two") != nil {
		t.Error("the object of the repair was not deleted")
	}
}

func TestNextRepair(t *testing.T) {
	w := newWorld(t)
	after := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"continuousReconcile: {every: 90s}":           after.Add(90 * time.Second),
		"continuousReconcile: {cron: '30 5 * * *'}":   time.Date(2026, 3, 4, 5, 30, 0, 0, time.UTC),
		"continuousReconcile: {every: none}":          {},
		"manifests: []":                               {},
		"continuousReconcile: {cron: nonsense}":       {},
		"continuousReconcile: {cron: nonsense, x: y}": {},
	} {
		w.configure(text)
		if next, ok := w.deployer.NextRepair(w.item, after); !next.Equal(want) || ok == want.IsZero() {
			t.Errorf("%s: %v, %v", text, next, ok)
		}
	}
}
