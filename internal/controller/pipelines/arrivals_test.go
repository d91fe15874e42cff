// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
)

// kustomized makes the Kustomization app in a namespace healthy at a revision, as kustomize-controller would report it.
func (w *world) kustomized(namespace, revision string) {
	w.Helper()
	app := &unstructured.Unstructured{}
	app.SetAPIVersion("kustomize.toolkit.fluxcd.io/v1")
	app.SetKind("Kustomization")
	app.SetNamespace(namespace)
	app.SetName("app")
	if err := w.Client().Create(w.Context(), app); err != nil && !apierrors.IsAlreadyExists(err) {
		w.Fatal(err)
	}
	if err := w.Client().Get(w.Context(), client.ObjectKeyFromObject(app), app); err != nil {
		w.Fatal(err)
	}
	app.Object["status"] = map[string]any{
		"observedGeneration": app.GetGeneration(), "lastAppliedRevision": revision, "lastAttemptedRevision": revision,
		"conditions": []any{map[string]any{
			"type":               "Ready",
			"status":             "True",
			"reason":             "ReconciliationSucceeded",
			"message":            "as the test says",
			"observedGeneration": app.GetGeneration(),
			"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
		}},
	}
	if err := w.Client().Status().Update(w.Context(), app); err != nil {
		w.Fatal(err)
	}
}

// A promoted commit must also count as arrived when it is reported without the name of its branch; otherwise, the promotion waits for it
// forever.
func TestPIP11_PIP23_ACommitArrivesWithoutItsBranch(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ before, reported, value, then string }{
		"commit": {"sha1:0a0a", "main@sha1:1b1b", "1b1b", "sha1:1b1b"},
		"digest": {"sha256:0a0a", "latest@sha256:1b1b", "sha256:1b1b", "sha256:1b1b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			at := w.places(2)
			w.kustomized(at[0], test.reported)
			w.kustomized(at[1], test.before)
			w.Create(testkit.Pipeline(w.Namespace, "p").App("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "app").
				Environment("dev", at[0]).Environment("prod", at[1]).Notification().Build())
			p := w.untilState("p", "prod", test.reported, pipelines.PromotionSucceeded)
			if value := p.Status.Environments["prod"].Promotion.Value; value != test.value {
				t.Errorf("written is %q", value)
			}
			w.kustomized(at[1], test.then)
			p = w.untilState("p", "prod", test.reported, pipelines.PromotionComplete)
			if got := p.Status.Environments["prod"].Targets[0].Revision; got != test.then {
				t.Errorf("the status says %s, where Flux reports %s", got, test.then)
			}
		})
	}
}

// An application that exists and was never deployed is left to people, unless the pipeline may make the first release.
func TestPIP06_AFirstReleaseNeedsToBeAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := w.places(2)
	w.deploy(w.Client(), at[0], "1.1.0", true)
	w.Create(testkit.Pipeline(w.Namespace, "p").App("helm.toolkit.fluxcd.io/v2", "HelmRelease", "app").
		Environment("dev", at[0]).Environment("prod", at[1]).Notification().Build())
	event := w.untilEvent("p", "GetAppError")
	if event.Type != "Warning" || !strings.Contains(event.Message, at[1]) {
		t.Errorf("the Event is %s: %s", event.Type, event.Message)
	}
	app := &unstructured.Unstructured{}
	app.SetGroupVersionKind(helmRelease)
	app.SetNamespace(at[1])
	app.SetName("app")
	w.Create(app)
	p := w.until("p", "held", func(p *pipelines.Pipeline) bool { return held(p, "prod", pipelines.HoldNeverDeployed) })
	target := p.Status.Environments["prod"].Targets[0]
	facts := map[string]bool{"error": target.Error != "", "message": target.Message != "", "never deployed": target.NeverDeployed}
	if diff := cmp.Diff(map[string]bool{"error": false, "message": true, "never deployed": true}, facts); diff != "" {
		t.Errorf("the target (-want +got):\n%s", diff)
	}
	if got := w.promoteEvents("p"); len(got) > 0 {
		t.Fatalf("promoted: %v", got)
	}
	before := p.DeepCopy()
	p.Spec.Environments[1].FirstRelease = true
	if err := w.Client().Patch(t.Context(), p, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionSucceeded)
}
