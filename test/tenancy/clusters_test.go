// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package tenancy_test

import (
	"encoding/base64"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	gitops "espalier.dev/api/gitops/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/tenancy"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/helmcharts"
	"espalier.dev/internal/testkit/relay"
)

// chart installs the chart of a ConfigMap in the cluster of a Target. Its job has started.
func (w *tenant) chart(name, target, namespace string) *lsv1alpha1.DeployItem {
	w.Helper()
	packed := helmcharts.Pack(w.T, map[string]string{
		"Chart.yaml":            "apiVersion: v2\nname: hello\nversion: 1.0.0\n",
		"templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n",
	})
	item := testkit.DeployItem(w.Namespace, name).Target(target).Config(lsv1alpha1.DeployItemTypeHelm, map[string]any{
		"apiVersion": "helm.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderConfiguration",
		"name": name, "namespace": namespace,
		"chart": map[string]any{"archive": map[string]any{"raw": base64.StdEncoding.EncodeToString(packed)}},
	}).Build()
	w.Create(item)
	w.SetStatus(item, map[string]any{"jobID": "first"})
	return item
}

// Helm keeps its releases and creates what a chart contains with the rights of the tenant, and uninstalls with them as well.
func TestAChartIsInstalledAsTheTenant(t *testing.T) {
	w := newTenant(t)
	w.grant("default", "few", without(roles(t)[tenancy.RoleTenant], "secrets", "list", "create"))
	w.Create(w.self("self", "default"))
	here := w.chart("hello", "self", w.Namespace)
	account := "the service account " + w.Namespace + "/default may not "
	complains(w, here, account, "secrets in namespace "+w.Namespace,
		"kubectl create rolebinding espalier-tenant --clusterrole=espalier-tenant --serviceaccount="+w.Namespace+":default --namespace="+w.Namespace)

	w.admit("default")
	complains(w, here, account, "configmaps in namespace "+w.Namespace, "To grant the right, bind a Role of namespace "+w.Namespace)
	hello := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "hello"}}
	if w.Read(hello) {
		t.Error("the chart is installed")
	}
	w.grant("default", "maps", configMaps("get", "create", "patch", "update", "delete", "list", "watch"))
	succeeds(w, here)
	if !w.Read(hello) {
		t.Error("the chart is not installed")
	}

	other := w.APIServer.Namespace(t)
	complains(w, w.chart("elsewhere", "self", other), account, "in namespace "+other, "To grant the right, bind a Role of namespace "+other)

	w.Delete(here)
	w.SetStatus(here, map[string]any{"jobID": "second"})
	testkit.EventuallyGone(t, w.APIServer, here, testkit.Within(limit))
	if w.Read(hello) {
		t.Error("the chart is still installed")
	}
}

// The kubeconfig behind a GitopsCluster is read with the rights of the tenant. Without them, a pipeline says which are missing, and it
// follows the cluster as soon as they are granted.
func TestAGitopsClusterIsReadWithTheRightsOfTheTenant(t *testing.T) {
	w := newTenant(t)
	w.InstallCRD(t, testkit.FluxKinds(t)...)
	away := w.APIServer.Namespace(t)
	testkit.HealthyRelease(t, w.APIServer, w.Namespace, "line", "1.1.0")
	testkit.HealthyRelease(t, w.APIServer, away, "line", "1.0.0")
	w.leaf("north")
	line := testkit.Pipeline(w.Namespace, "line").Environment("dev", w.Namespace).EnvironmentOn("north", "prod", away).Build()
	w.Create(line)
	there := func(p *pipelines.Pipeline) (target pipelines.TargetStatus) {
		if targets := p.Status.Environments["prod"].Targets; len(targets) == 1 {
			target = targets[0]
		}
		return target
	}
	testkit.Eventually(t, w.APIServer, line, testkit.Is("told which right is missing", func(p *pipelines.Pipeline) bool {
		said := there(p).Error
		return strings.Contains(said, "the service account "+w.Namespace+"/default may not get secrets in namespace "+w.Namespace) &&
			strings.Contains(said, "kubectl create rolebinding espalier-tenant --clusterrole=espalier-tenant --serviceaccount="+w.Namespace+":default")
	}), testkit.Within(limit))
	w.admit("default")
	testkit.Eventually(t, w.APIServer, line, testkit.Is("following the cluster", func(p *pipelines.Pipeline) bool {
		target := there(p)
		return target.Error == "" && target.Ready && target.Revision == "1.0.0"
	}), testkit.Within(limit))
}

// leaf creates a GitopsCluster: the same API server, under another address.
func (w *tenant) leaf(name string) {
	w.Helper()
	plain, err := rest.TransportFor(w.Config())
	if err != nil {
		w.Fatal(err)
	}
	front, err := relay.NewFront(w.Config().Host, plain)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(front.Close)
	kubeconfig, err := front.Kubeconfig()
	if err != nil {
		w.Fatal(err)
	}
	cluster := &gitops.GitopsCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
		Spec:       gitops.GitopsClusterSpec{SecretRef: &gitops.LocalObjectReference{Name: name}},
	}
	w.Create(w.secret(name, "kubeconfig", kubeconfig), cluster)
	meta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Test"})
	if err := w.Client().Status().Update(w.Context(), cluster); err != nil {
		w.Fatal(err)
	}
}
