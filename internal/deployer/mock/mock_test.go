// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	mockv1alpha1 "espalier.dev/api/deployer/mock/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer"
	"espalier.dev/internal/deployer/mock"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// start runs the mock deployer for one namespace until the test ends.
func start(t *testing.T, config *rest.Config, namespace string) {
	t.Helper()
	mgr, err := ctrl.NewManager(config, managerOptions(t, namespace))
	if err == nil {
		err = deployer.Setup(mgr, mock.New(), deployer.Options{Name: mock.Name, Version: "v1", Identity: "test", Workers: 2})
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func managerOptions(t *testing.T, namespace string) ctrl.Options {
	t.Helper()
	again := true
	return ctrl.Options{
		Scheme:     testkit.Server(t).Client().Scheme(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Controller: config.Controller{SkipNameValidation: &again},
	}
}

// begin starts an item by hand, as users of the API do: by its job ID alone.
func begin(t *testing.T, item *lsv1alpha1.DeployItem, job string) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"jobID": job}})
	if err != nil {
		t.Fatal(err)
	}
	if err := testkit.Server(t).Client().Status().Patch(t.Context(), item, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		t.Fatal(err)
	}
}

func exportsOf(t *testing.T, item *lsv1alpha1.DeployItem) map[string]any {
	t.Helper()
	if item.Status.ExportReference == nil {
		return nil
	}
	var secret corev1.Secret
	ref := item.Status.ExportReference
	if err := testkit.Server(t).Client().Get(t.Context(), client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &secret); err != nil {
		t.Fatal(err)
	}
	if !metav1.IsControlledBy(&secret, item) && secret.OwnerReferences[0].UID != item.UID {
		t.Errorf("Secret %s is owned by %v", secret.Name, secret.OwnerReferences)
	}
	var exports map[string]any
	if err := json.Unmarshal(secret.Data[lsv1alpha1.ExportSecretKey], &exports); err != nil {
		t.Fatal(err)
	}
	return exports
}

func exporting(t *testing.T, value any) *lsv1alpha1.AnyJSON {
	t.Helper()
	raw, err := lsv1alpha1.NewAnyJSON(value)
	if err != nil {
		t.Fatal(err)
	}
	return &raw
}

func TestAnItemStartedByHandDoesWhatItsConfigurationSays(t *testing.T) {
	server := testkit.Server(t)
	ns := server.Namespace(t)
	recorder := testkit.Record(t, server, ns, testkit.Groups("landscaper.gardener.cloud"))
	transport := faults.New(faults.Plan{})
	start(t, transport.Config(server.Config()), ns)
	status := &runtime.RawExtension{Raw: []byte(`{"apiVersion":"example.org/v1","kind":"Remembered","what":"this"}`)}
	item := testkit.DeployItem(ns, "good").Mock(mockv1alpha1.ProviderConfiguration{
		ProviderStatus: status, Export: exporting(t, map[string]any{"answer": 42}),
	}).Build()
	testkit.Create(t, server, item)
	begin(t, item, "job-1")
	done := testkit.EventuallyFinished(t, server, item, lsv1alpha1.PhaseSucceeded)

	if diff := cmp.Diff(map[string]any{"answer": 42.0}, exportsOf(t, done)); diff != "" {
		t.Errorf("exports: %s", diff)
	}
	var remembered, want any
	if err := json.Unmarshal(done.Status.ProviderStatus.Raw, &remembered); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(status.Raw, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, remembered); diff != "" {
		t.Errorf("provider status: %s", diff)
	}
	if want := (lsv1alpha1.DeployerInformation{Identity: "test", Name: mock.Name, Version: "v1"}); done.Status.Deployer != want {
		t.Errorf("deployer %+v", done.Status.Deployer)
	}
	if done.Status.ObservedGeneration != done.Generation || done.Status.LastReconcileTime == nil {
		t.Errorf("observed generation %d, picked up at %v", done.Status.ObservedGeneration, done.Status.LastReconcileTime)
	}
	recorder.Quiet(t, time.Second)
	phases := recorder.Of(item).Transitions("status.phase")
	if diff := cmp.Diff([]string{"", "Progressing", "Succeeded"}, phases); diff != "" {
		t.Errorf("phases: %s", diff)
	}
	if writes, _ := transport.Log().Matching("patch/deployitems/status"); len(writes) != 2 {
		t.Errorf("%d status writes, want the pick-up and the end:\n%s", len(writes), transport.Log())
	}
}
