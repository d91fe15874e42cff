// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mock "espalier.dev/api/deployer/mock/v1alpha1"
	landscaper "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
)

// oneOfEach uses every method of the builders at least once.
func oneOfEach(t *testing.T, namespace string) []client.Object {
	t.Helper()
	deployed := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "deployed"},
	}
	failed := landscaper.PhaseFailed
	return []client.Object{
		testkit.Installation(namespace, "default-blueprint").Build(),
		testkit.Installation(namespace, "inline").Context("c").Label("tier", "one").Annotate("note", "x").Finalizer(landscaper.Finalizer).
			Blueprint("kind: Blueprint\n").
			BlueprintFile("templates/deploy/main.yaml", "deployItems: []\n").BlueprintFile("templates/readme.md", "text").
			ImportData("config", "shared-config").ImportSecret("password", "s", "key").ImportConfigMap("settings", "m", "").
			ImportTarget("cluster", "t").ImportTargets("all", "t", "u").ImportTargets("none").
			MapImport("size", "(( config.size ))").MapExport("address", map[string]any{"url": "(( url ))"}).
			ExportData("url", "app-url").ExportTarget("inner", "inner-cluster").Reconcile().Build(),
		testkit.Installation(namespace, "remote").Component("example.org/app", "1.2.3").BlueprintRef("blueprint").Continuous().Build(),
		testkit.Execution(namespace, "e").Context("c").MockItem("a", mock.ProviderConfiguration{}).
			MockItem("b", mock.ProviderConfiguration{Phase: &failed}, "a").ManifestItem("m", "t", deployed).Reconcile().Build(),
		testkit.DeployItem(namespace, "mocked").Timeout("none").Build(),
		testkit.DeployItem(namespace, "manifests").Target("t").Manifests(deployed).Build(),
		testkit.DeployItem(namespace, "other").Config("example.org/other", map[string]any{
			"apiVersion": "example.org/v1",
			"kind":       "Configuration",
			"key":        "value",
		}).Build(),
		testkit.DataObject(namespace, "shared-config", map[string]any{"size": 3}).Label("tier", "one").Build(),
		testkit.Target(namespace, "t").Kubeconfig("CANARY").Build(),
		testkit.Target(namespace, "u").Secret("s", "kubeconfig").Build(),
		testkit.Target(namespace, "v").Type("example.org/other").Config(map[string]any{"key": "CANARY"}).Build(),
		testkit.Context(namespace, "c").Repository(map[string]any{"type": "OCIRegistry", "baseUrl": "registry.example.org"}).
			PullSecret("pull").Configuration("proxy", map[string]any{"url": "http://proxy.example.org"}).Build(),
		testkit.Pipeline(namespace, "plain").Environment("dev", "app-dev").Build(),
		testkit.Pipeline(namespace, "app").App("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "app").Pairwise().Suspended().Manual().
			PullRequest(pipelines.PullRequestStrategy{
				Type:       pipelines.GitProviderGitea,
				URL:        "https://git.example.org/a/b",
				BaseBranch: "main",
				SecretRef:  pipelines.LocalObjectReference{Name: "git"},
			}).
			Environment("dev", "app-dev").MinHealthy("5m").
			EnvironmentOn("east", "prod", "app").EnvironmentOn("west", "prod", "app").
			Promotion(pipelines.Promotion{Strategy: pipelines.Strategy{Notification: &pipelines.NotificationStrategy{}}}).Build(),
		testkit.Pipeline(namespace, "notified").Environment("dev", "app-dev").Notification().Build(),
	}
}

// The API server stores what the builders build unchanged: it rejects, prunes and adds nothing.
func TestBuiltObjectsAreStoredAsTheyAre(t *testing.T) {
	server := testkit.Server(t)
	objects := oneOfEach(t, server.Namespace(t))
	strict := client.WithFieldValidation(server.Client(), metav1.FieldValidationStrict)
	built := testkit.YAML(t, objects...)
	for _, object := range objects {
		if err := strict.Create(t.Context(), object); err != nil {
			t.Fatalf("%T %s: %v", object, object.GetName(), err)
		}
		object.SetGeneration(0)
		if pipeline, ok := object.(*pipelines.Pipeline); ok {
			pipeline.Status = pipelines.PipelineStatus{} // the CRD gives it a default
		}
	}
	if difference := cmp.Diff(strings.Split(built, "\n"), strings.Split(testkit.YAML(t, objects...), "\n")); difference != "" {
		t.Errorf("built (-) and stored (+):\n%s", difference)
	}
	testkit.Golden(t, "built.golden.yaml", built)
}

func TestBuildersReturnCopies(t *testing.T) {
	builder := testkit.Installation("ns", "a")
	first := builder.Build()
	second := builder.Label("later", "yes").Build()
	if first == second || len(first.Labels) != 0 || second.Labels["later"] != "yes" {
		t.Errorf("labels %v and %v", first.Labels, second.Labels)
	}
}

func TestTargetsOfTestServersReachThem(t *testing.T) {
	server := testkit.Server(t)
	target := testkit.Target("ns", "t").Cluster(t, server).Build()
	var config landscaper.KubernetesClusterConfig
	var kubeconfig string
	if err := target.Spec.Configuration.Decode(&config); err != nil {
		t.Fatal(err)
	}
	if err := config.Kubeconfig.Decode(&kubeconfig); err != nil {
		t.Fatal(err)
	}
	reached, err := clientcmd.RESTConfigFromKubeConfig([]byte(kubeconfig))
	if err != nil || reached.Host != server.Config().Host {
		t.Errorf("reaches %v, %v; want %s", reached, err, server.Config().Host)
	}
}

func TestCreateFailsTheTest(t *testing.T) {
	server := testkit.Server(t)
	failed, text := outcome(t, func(s *spy) {
		testkit.Create(s, server, testkit.DataObject("no-such-namespace", "a", 1).Build())
	})
	if !failed || !strings.Contains(text, "no-such-namespace/a") {
		t.Errorf("failed %v: %s", failed, text)
	}
}
