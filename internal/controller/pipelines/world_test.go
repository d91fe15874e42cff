// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines_test

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/managed"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// world is a management cluster with the controller of pipelines. The test plays Flux: it writes the status of applications.
type world struct{ *managed.World }

// newWorld runs the controller until the test ends.
func newWorld(t *testing.T, change ...func(*manager.Options)) *world {
	t.Helper()
	w := idleWorld(t, change...)
	w.Manage()
	return w
}

// idleWorld is a world without a running controller.
func idleWorld(t *testing.T, change ...func(*manager.Options)) *world {
	t.Helper()
	w := &world{managed.NewWorld(t, managed.Controllers("pipelines"), func(o *manager.Options) { o.Pipelines.PollInterval = time.Second })}
	for _, f := range change {
		f(&w.Options)
	}
	w.InstallCRD(t, testkit.FluxKinds(t)...)
	return w
}

// places creates a namespace for each environment, with a grant for the pipelines of the world.
func (w *world) places(number int) []string {
	w.Helper()
	var names []string
	for range number {
		names = append(names, w.GrantedNamespace(w.T, w.Namespace))
	}
	return names
}

var helmRelease = schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}

// deploy makes the HelmRelease app in a namespace run a revision, healthy or not, as helm-controller would report it.
func (w *world) deploy(cluster client.Client, namespace, revision string, healthy bool) {
	w.Helper()
	ready, reason := "True", "UpgradeSucceeded"
	if !healthy {
		ready, reason = "Unknown", "Progressing"
	}
	w.write(cluster, namespace, map[string]any{
		"history": []any{map[string]any{"chartVersion": revision, "status": "deployed", "version": int64(1)}}, "lastAttemptedRevision": revision,
	}, ready, reason)
}

// write creates the HelmRelease app if there is none, and gives it a status with a condition Ready.
func (w *world) write(cluster client.Client, namespace string, status map[string]any, ready, reason string) {
	w.Helper()
	app := &unstructured.Unstructured{}
	app.SetGroupVersionKind(helmRelease)
	app.SetNamespace(namespace)
	app.SetName("app")
	if err := cluster.Create(w.Context(), app); err != nil && !apierrors.IsAlreadyExists(err) {
		w.Fatal(err)
	}
	if err := cluster.Get(w.Context(), client.ObjectKeyFromObject(app), app); err != nil {
		w.Fatal(err)
	}
	status["observedGeneration"] = app.GetGeneration()
	status["conditions"] = []any{map[string]any{
		"type": "Ready", "status": ready, "reason": reason, "message": "as the test says", "observedGeneration": app.GetGeneration(),
		"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
	}}
	app.Object["status"] = status
	if err := cluster.Status().Update(w.Context(), app); err != nil {
		w.Fatal(err)
	}
}

// until waits until a condition holds for a pipeline.
func (w *world) until(name, what string, holds func(*pipelines.Pipeline) bool) *pipelines.Pipeline {
	w.Helper()
	stub := &pipelines.Pipeline{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
	return testkit.Eventually(w.T, w.APIServer, stub, testkit.Is(what, holds))
}

// untilState waits until the promotion of a revision to an environment has reached a state.
func (w *world) untilState(name, environment, revision string, state pipelines.PromotionState) *pipelines.Pipeline {
	w.Helper()
	return w.until(name, "promotion of "+revision+" to "+environment+": "+string(state), func(p *pipelines.Pipeline) bool {
		promotion := p.Status.Environments[environment].Promotion
		return promotion != nil && promotion.Revision == revision && promotion.State == state
	})
}

// held reports whether a pipeline waits for something in an environment.
func held(p *pipelines.Pipeline, environment string, reason pipelines.HoldReason) bool {
	return slices.ContainsFunc(p.Status.Holds, func(h pipelines.Hold) bool { return h.Environment == environment && h.Reason == reason })
}

// promoteEvents returns the messages of the Events by which a pipeline promoted.
func (w *world) promoteEvents(name string) []string {
	w.Helper()
	var list corev1.EventList
	if err := w.Client().List(w.Context(), &list, client.InNamespace(w.Namespace)); err != nil {
		w.Fatal(err)
	}
	var messages []string
	for _, event := range list.Items {
		if event.InvolvedObject.Name == name && event.Reason == "Promote" {
			messages = append(messages, event.Message)
		}
	}
	slices.Sort(messages)
	return messages
}

// untilEvent waits for an Event of a pipeline.
func (w *world) untilEvent(name, reason string) *corev1.Event {
	w.Helper()
	return w.untilEventIn(w.Namespace, name, reason)
}

// untilEventIn waits for an Event of an object that is stored in a namespace.
func (w *world) untilEventIn(namespace, name, reason string) *corev1.Event {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), testkit.Patience)
	defer cancel()
	watcher, err := w.Client().Watch(ctx, &corev1.EventList{}, client.InNamespace(namespace))
	if err != nil {
		w.Fatal(err)
	}
	defer watcher.Stop()
	for change := range watcher.ResultChan() {
		if event, ok := change.Object.(*corev1.Event); ok && event.Reason == reason && event.InvolvedObject.Name == name {
			return event
		}
	}
	w.Fatalf("there is no Event %s of %s", reason, name)
	return nil
}

func sorted(texts []string) []string {
	slices.Sort(texts)
	return texts
}
