// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/deployer/manifest"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/target"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

// process runs the deployer in a manager for one namespace until the test ends.
func process(t *testing.T, server *testkit.APIServer, namespace string, transport *faults.Transport) {
	t.Helper()
	mgr := testkit.NewManager(t, transport.Config(server.Config()), namespace)
	clusters := target.NewClusters(target.Options{
		Host: mgr.GetAPIReader(), Dialer: dial.Rules{AllowLoopback: true}, WrapTransport: transport.Config(server.Config()).WrapTransport,
	})
	t.Cleanup(clusters.Close)
	if err := deployer.Setup(mgr, manifest.New(), deployer.Options{Name: manifest.Name, Clusters: clusters, Workers: 2}); err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, mgr.Start)
}

// begin starts a job of an item, as its execution would.
func begin(t *testing.T, server *testkit.APIServer, item *landscaper.DeployItem, job string) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"jobID": job}})
	if err == nil {
		err = server.Client().Status().Patch(t.Context(), item, client.RawPatch(types.MergePatchType, patch))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func deploymentOf(namespace string) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
			},
		},
	}
}

func TestAnItemFromJobToDeletion(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	recorder := testkit.Record(t, server, namespace, testkit.Groups("landscaper.gardener.cloud"))
	transport := faults.New(faults.Plan{})
	process(t, server, namespace, transport)
	item := testkit.DeployItem(namespace, "web").Target(ownTarget).Manifests(deploymentOf(namespace)).Finalizer(landscaper.Finalizer).Build()
	testkit.Create(t, server, testkit.Target(namespace, ownTarget).Cluster(t, server).Build(), item)
	begin(t, server, item, "first")

	waiting := testkit.Eventually(t, server, item, testkit.Is("waiting for readiness", func(i *landscaper.DeployItem) bool {
		return slices.ContainsFunc(i.Status.Conditions, func(c landscaper.Condition) bool { return c.Reason == cluster.WaitingForReadiness })
	}))
	if !strings.Contains(string(waiting.Status.ProviderStatus.Raw), `"uid"`) {
		t.Errorf("while it waits, the inventory is %s", waiting.Status.ProviderStatus.Raw)
	}
	w := &world{World: &testkit.World{T: t, APIServer: server, Namespace: namespace}}
	w.roll("web")
	done := testkit.EventuallyFinished(t, server, item, landscaper.PhaseSucceeded)
	recorder.Quiet(t, time.Second)
	writes, err := transport.Log().Matching("patch/deployitems/status")
	if err != nil {
		t.Fatal(err)
	}
	if changes := writes.Where(func(e faults.Entry) bool { return len(e.Fields) > 0 }); len(changes) != 3 {
		t.Errorf("%d status changes, want pick-up, waiting and end:\n%s", len(changes), transport.Log().Writes())
	}

	if err := server.Client().Delete(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	begin(t, server, done, "second")
	testkit.EventuallyGone(t, server, done)
	testkit.EventuallyGone(t, server, deploymentOf(namespace))
}

// The request budget of a job with one object: pick-up, creation, end, and the event.
func TestRequestsOfAnItem(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	recorder := testkit.Record(t, server, namespace, testkit.Groups("landscaper.gardener.cloud"))
	transport := faults.New(faults.Plan{})
	process(t, server, namespace, transport)
	object := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "one"},
	}
	item := testkit.DeployItem(namespace, "one").Target(ownTarget).Manifests(object).Finalizer(landscaper.Finalizer).Build()
	testkit.Create(t, server, testkit.Target(namespace, ownTarget).Cluster(t, server).Build(), item)
	before := len(transport.Log())
	begin(t, server, item, "first")
	testkit.EventuallyFinished(t, server, item, landscaper.PhaseSucceeded)
	recorder.Quiet(t, time.Second)
	var got []string
	for _, entry := range transport.Log()[before:] {
		if entry.Resource != "" && entry.Verb != "watch" && entry.Verb != "list" && entry.Resource != "events" {
			got = append(got, entry.Verb+" "+entry.Resource)
		}
	}
	if want := []string{"patch deployitems", "create configmaps", "patch deployitems"}; !slices.Equal(got, want) {
		t.Errorf("the requests were %v, want %v", got, want)
	}
}
