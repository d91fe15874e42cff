// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mockv1alpha1 "espalier.dev/api/deployer/mock/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/deployer/mock"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

func TestMain(m *testing.M) { testkit.MainWithOthers(m) }

// start runs the mock deployer for one namespace until the test ends.
func start(t *testing.T, config *rest.Config, namespace string) {
	t.Helper()
	mgr := testkit.NewManager(t, config, namespace)
	if err := deployer.Setup(mgr, mock.New(), deployer.Options{Name: mock.Name, Version: "v1", Identity: "test", Workers: 2}); err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, mgr.Start)
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

func phased(initial, final lsv1alpha1.Phase) mockv1alpha1.ProviderConfiguration {
	config := mockv1alpha1.ProviderConfiguration{}
	if initial != "" {
		config.InitialPhase = &initial
	}
	if final != "" {
		config.Phase = &final
	}
	return config
}

func TestAnItemEndsInThePhaseItAsksFor(t *testing.T) {
	server := testkit.Server(t)
	ns := server.Namespace(t)
	recorder := testkit.Record(t, server, ns, testkit.Groups("landscaper.gardener.cloud"))
	start(t, server.Config(), ns)
	forever := testkit.DeployItem(ns, "forever").Mock(phased("", lsv1alpha1.PhaseProgressing)).Build()
	testkit.Create(t, server, forever)
	begin(t, forever, "job-1")
	tests := map[string]struct {
		config mockv1alpha1.ProviderConfiguration
		want   lsv1alpha1.Phase
	}{
		"default":         {phased("", ""), lsv1alpha1.PhaseSucceeded},
		"failed":          {phased("", lsv1alpha1.PhaseFailed), lsv1alpha1.PhaseFailed},
		"step-by-step":    {phased(lsv1alpha1.PhaseProgressing, lsv1alpha1.PhaseSucceeded), lsv1alpha1.PhaseSucceeded},
		"step-to-failure": {phased(lsv1alpha1.PhaseInit, lsv1alpha1.PhaseFailed), lsv1alpha1.PhaseFailed},
		"initial-alone":   {phased(lsv1alpha1.PhaseProgressing, ""), lsv1alpha1.PhaseSucceeded},
		"initial-init":    {phased(lsv1alpha1.PhaseInit, ""), lsv1alpha1.PhaseSucceeded},
		"initial-unknown": {phased("Pending", ""), lsv1alpha1.PhaseSucceeded},
		"failed-at-once":  {phased(lsv1alpha1.PhaseFailed, lsv1alpha1.PhaseSucceeded), lsv1alpha1.PhaseFailed},
	}
	for name, test := range tests {
		item := testkit.DeployItem(ns, name).Mock(test.config).Build()
		without := testkit.DeployItem(ns, name+"-without-a-job").Mock(test.config).Build()
		without.Spec.Flow = lsv1alpha1.FlowContinuous
		testkit.Create(t, server, item, without)
		begin(t, item, "job-1")
		testkit.EventuallyFinished(t, server, item, test.want)
		testkit.Eventually(t, server, without, testkit.Is("in phase "+string(test.want), func(i *lsv1alpha1.DeployItem) bool {
			return i.Status.Phase == test.want
		}))
	}
	stepped := testkit.DeployItem(ns, "step-by-step").Build()
	if waits := recorder.Of(stepped).Transitions("status.transitionTimes.waitTime"); len(waits) < 2 {
		t.Errorf("an item with an initial phase did not stop: %q", waits)
	}
	now := forever.DeepCopy()
	if err := server.Client().Get(t.Context(), client.ObjectKeyFromObject(forever), now); err != nil {
		t.Fatal(err)
	}
	if now.Status.Phase != lsv1alpha1.PhaseProgressing || now.Status.IsFinished() {
		t.Errorf("an item that asks for Progressing is %+v", now.Status)
	}
}

func TestConfigurationsThatAreWrong(t *testing.T) {
	server := testkit.Server(t)
	ns := server.Namespace(t)
	start(t, server.Config(), ns)
	typed := func(more map[string]any) map[string]any {
		more["apiVersion"], more["kind"] = mockv1alpha1.SchemeGroupVersion.String(), "ProviderConfiguration"
		return more
	}
	for name, config := range map[string]map[string]any{
		"another-kind":       {"apiVersion": "v1", "kind": "ConfigMap"},
		"no-object":          typed(map[string]any{"export": "text"}),
		"a-number-for-phase": typed(map[string]any{"phase": 5}),
		"untyped-status":     typed(map[string]any{"providerStatus": map[string]any{"a": "b"}}),
	} {
		item := testkit.DeployItem(ns, name).Config(lsv1alpha1.DeployItemTypeMock, config).Build()
		testkit.Create(t, server, item)
		begin(t, item, "job-1")
		item = testkit.EventuallyFinished(t, server, item, lsv1alpha1.PhaseFailed)
		if e := item.Status.LastError; e == nil || len(e.Codes) != 1 || e.Codes[0] != lsv1alpha1.ErrorConfigurationProblem {
			t.Errorf("%s: %+v", name, e)
		}
	}
}
