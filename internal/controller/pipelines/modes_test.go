// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gitops "espalier.dev/api/gitops/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
)

// In the mode Pairwise, a revision continues although the first environment is already ahead.
func TestPIP13_PairwiseCarriesTwoRevisionsAtOnce(t *testing.T) {
	t.Parallel()
	for _, mode := range []pipelines.Mode{pipelines.ModePairwise, pipelines.ModeSuperseding} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			at := w.places(3)
			for i, revision := range []string{"1.2.0", "1.1.0", "1.0.0"} {
				w.deploy(w.Client(), at[i], revision, true)
			}
			p := testkit.Pipeline(w.Namespace, "p").App("helm.toolkit.fluxcd.io/v2", "HelmRelease", "app").
				Environment("dev", at[0]).Environment("staging", at[1]).Environment("prod", at[2]).Notification().Build()
			p.Spec.Mode = mode
			w.Create(p)
			p = w.untilState("p", "staging", "1.2.0", pipelines.PromotionSucceeded)
			if mode == pipelines.ModePairwise {
				w.untilState("p", "prod", "1.1.0", pipelines.PromotionSucceeded)
				return
			}
			if promotion := p.Status.Environments["prod"].Promotion; promotion != nil {
				t.Errorf("promoted to prod: %+v", promotion)
			}
		})
	}
}

// A change that affects neither health nor revision causes no write.
func TestPIP01_NothingIsWrittenWhenNothingChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	builder, at := w.twoEnvironments()
	w.Create(builder.Build())
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionSucceeded)
	w.deploy(w.Client(), at[1], "1.1.0", true)
	before := w.until("p", "complete", func(p *pipelines.Pipeline) bool { return p.Status.Run.CompletionTime != nil })
	for n := range 3 {
		w.touch(at[n%2])
	}
	// The same events wake another pipeline of the same applications, which finishes after them.
	second := builder.Build()
	second.Name = "second"
	w.Create(second)
	w.until("second", "complete", func(p *pipelines.Pipeline) bool { return p.Status.Run != nil && p.Status.Run.CompletionTime != nil })
	var after pipelines.Pipeline
	if err := w.Client().Get(t.Context(), client.ObjectKeyFromObject(before), &after); err != nil {
		t.Fatal(err)
	}
	if after.ResourceVersion != before.ResourceVersion {
		t.Errorf("it was written: version %s, before %s", after.ResourceVersion, before.ResourceVersion)
	}
}

// touch changes something about the application that no controller reads.
func (w *world) touch(namespace string) {
	w.Helper()
	app := &unstructured.Unstructured{}
	app.SetGroupVersionKind(helmRelease)
	if err := w.Client().Get(w.Context(), types.NamespacedName{Namespace: namespace, Name: "app"}, app); err != nil {
		w.Fatal(err)
	}
	before := app.DeepCopy()
	app.SetLabels(map[string]string{"touched": app.GetResourceVersion()})
	if err := w.Client().Patch(w.Context(), app, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

func TestPIP29_PIP02_ADeletedPipelineDropsItsWatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	leaf := testkit.NewServer(t)
	leaf.InstallCRD(t, testkit.FluxKinds(t)...)
	w.gitopsCluster("north", leaf)
	builder, _ := w.twoEnvironments()
	away := leaf.Namespace(t)
	w.deploy(leaf.Client(), away, "1.0.0", true)
	for _, name := range []string{"p", "q"} {
		p := builder.Build()
		p.Name = name
		p.Spec.Environments[1].Targets = []pipelines.Target{{
			Namespace:  away,
			ClusterRef: &pipelines.ClusterReference{Kind: pipelines.ClusterKindGitopsCluster, Name: "north"},
		}}
		w.Create(p)
		w.untilState(name, "prod", "1.1.0", pipelines.PromotionSucceeded)
	}
	leaf.EventuallyWatches(t, "helmreleases", 1)
	for left, name := range []string{"q", "p"} {
		p := &pipelines.Pipeline{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
		if err := w.Client().Delete(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		testkit.EventuallyGone(t, w.APIServer, p)
		leaf.EventuallyWatches(t, "helmreleases", 1-left)
	}
}

// gitopsCluster registers a leaf cluster under a name.
func (w *world) gitopsCluster(name string, leaf *testkit.APIServer) {
	w.Helper()
	cluster := &gitops.GitopsCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
		Spec:       gitops.GitopsClusterSpec{SecretRef: &gitops.LocalObjectReference{Name: name}},
	}
	w.Create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
		Data:       map[string][]byte{"kubeconfig": kubeconfigOf(w.T, leaf)},
	}, cluster)
	w.becomesReady(cluster)
}

func (w *world) becomesReady(cluster *gitops.GitopsCluster) {
	w.Helper()
	meta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Test"})
	if err := w.Client().Status().Update(w.Context(), cluster); err != nil {
		w.Fatal(err)
	}
}
