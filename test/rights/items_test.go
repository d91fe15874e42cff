// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rights_test

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mock "espalier.dev/api/deployer/mock/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/helmcharts"
	"espalier.dev/internal/testkit/kubelet"
)

// begin gives an object created by hand its job.
func (s *scene) begin(object client.Object, job string) {
	s.Helper()
	s.SetStatus(object, map[string]any{"jobID": job})
}

// executionByHand runs an execution whose deploy items wait for each other. Its error omits what the installation of its name imports.
func (s *scene) executionByHand() {
	s.clusters()
	s.Create(testkit.DataObject(s.Namespace, "word", "w").Build(), s.secret("login", "password", "s3cretword"))
	s.Create(s.importing("round", "").Build())
	execution := testkit.Execution(s.Namespace, "round").
		MockItem("a", mock.ProviderConfiguration{}, "b").MockItem("b", mock.ProviderConfiguration{}, "a").Build()
	s.Create(execution)
	s.begin(execution, "first")
	testkit.EventuallyFinished(s.T, s.APIServer, execution, lsv1alpha1.PhaseFailed)
}

// repairs checks objects that were deployed long ago.
func (s *scene) repairs() {
	s.clusters()
	every := map[string]any{"every": "1s"}
	object := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "pot", "namespace": s.Namespace},
	}
	chart := helmcharts.Pack(s.T, map[string]string{
		"Chart.yaml":        "apiVersion: v2\nname: pot\nversion: 1.0.0\n",
		"templates/it.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: chart}\n",
	})
	manifest := s.item("manifest", lsv1alpha1.DeployItemTypeManifest, map[string]any{
		"apiVersion": "manifest.deployer.landscaper.gardener.cloud/v1alpha2", "continuousReconcile": every,
		"manifests": []any{map[string]any{"manifest": object}},
	})
	helm := s.item("helm", lsv1alpha1.DeployItemTypeHelm, map[string]any{
		"apiVersion": "helm.deployer.landscaper.gardener.cloud/v1alpha1", "continuousReconcile": every,
		"name": "pot", "namespace": s.Namespace, "chart": map[string]any{"archive": map[string]any{"raw": chart}},
	})
	image := s.item("container", lsv1alpha1.DeployItemTypeContainer, map[string]any{
		"apiVersion": "container.deployer.landscaper.gardener.cloud/v1alpha1", "continuousReconcile": every, "image": "shop",
	})
	player := kubelet.Kubelet{Client: s.Client(), Config: s.Config(), TempDir: s.TempDir}
	if err := player.Run(s.Context(), s.pod(), kubelet.Nothing); err != nil {
		s.Fatal(err)
	}
	for _, item := range []*lsv1alpha1.DeployItem{manifest, helm, image} {
		testkit.EventuallyFinished(s.T, s.APIServer, item, lsv1alpha1.PhaseSucceeded)
	}
}

// item creates a deploy item and starts its first job.
func (s *scene) item(name string, kind lsv1alpha1.DeployItemType, config map[string]any) *lsv1alpha1.DeployItem {
	s.Helper()
	config["kind"] = "ProviderConfiguration"
	builder := testkit.DeployItem(s.Namespace, name).Config(kind, config)
	if kind != lsv1alpha1.DeployItemTypeContainer {
		builder.Target("cluster")
	}
	item := builder.Build()
	s.Create(item)
	s.begin(item, "first")
	return item
}

// pod waits for a pod in the namespace.
func (s *scene) pod() *corev1.Pod {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), testkit.Patience)
	defer cancel()
	watcher, err := s.Client().Watch(ctx, &corev1.PodList{}, client.InNamespace(s.Namespace))
	if err != nil {
		s.Fatal(err)
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		if pod, ok := event.Object.(*corev1.Pod); ok {
			return pod
		}
	}
	s.Fatal("there is no pod")
	return nil
}

// withoutUninstall deletes a deploy item, with its exports, while what it has deployed stays.
func (s *scene) withoutUninstall() {
	export, err := lsv1alpha1.NewAnyJSON(map[string]any{"a": 1})
	if err != nil {
		s.Fatal(err)
	}
	item := testkit.DeployItem(s.Namespace, "kept").Mock(mock.ProviderConfiguration{Export: &export}).Build()
	s.Create(item)
	s.begin(item, "first")
	testkit.EventuallyFinished(s.T, s.APIServer, item, lsv1alpha1.PhaseSucceeded)
	s.Annotate(item, lsv1alpha1.DeleteWithoutUninstallAnnotation, "true")
	s.removed(item)
}

// requests sends those of Flux, here for a deploy item that follows its spec.
func (s *scene) requests() {
	item := testkit.DeployItem(s.Namespace, "asked").Build()
	item.Spec.Flow = lsv1alpha1.FlowContinuous
	s.Create(item)
	s.Annotate(item, "reconcile.fluxcd.io/requestedAt", "now")
	testkit.Eventually(s.T, s.APIServer, item, testkit.Is("heard", func(i *lsv1alpha1.DeployItem) bool {
		return i.Status.LastHandledReconcileAt == "now"
	}))
}

// endOfANamespace deletes a namespace with everything in it, as Kubernetes does.
func (s *scene) endOfANamespace() {
	s.Namespace = s.estate.ending
	s.Create(testkit.Installation(s.Namespace, "app").Blueprint(header + `
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems: [{name: seed, type: landscaper.gardener.cloud/mock, config: {` + mockConfig + `}}]
`).Reconcile().Build())
	s.finished("app", lsv1alpha1.PhaseSucceeded)
	items := s.items("app", 1)
	s.Delete(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}})
	execution := testkit.Execution(s.Namespace, "app").Build()
	for _, object := range []client.Object{s.installation("app"), execution, items[0]} {
		if err := s.Client().Delete(s.Context(), object); client.IgnoreNotFound(err) != nil {
			s.Fatal(err)
		}
	}
	for _, object := range []client.Object{s.installation("app"), execution, items[0]} {
		testkit.EventuallyGone(s.T, s.APIServer, object)
	}
}
