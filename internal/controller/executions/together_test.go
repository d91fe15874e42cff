// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package executions_test

import (
	"strings"
	"testing"

	mockapi "espalier.dev/api/deployer/mock/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/controller/deployitems"
	"espalier.dev/internal/deployer/mock"
	"espalier.dev/internal/testkit"
)

// Executions, the watchdog and a real deployer in one process.
func TestJOB70_JOB71_JOB72_WithTheMockDeployer(t *testing.T) {
	s := newEmptyStage(t)
	recorder := s.record(t)
	defer examine(t, recorder)
	s.startWith(t, s.Config(),
		func(m manager) error { return deployitems.Setup(m, deployitems.Options{Workers: 2}) },
		func(m manager) error {
			return deployer.Setup(m, mock.New(), deployer.Options{Name: mock.Name, Version: "test", Workers: 2})
		},
	)
	failed := lsv1alpha1.PhaseFailed
	port := mockapi.ProviderConfiguration{Export: &lsv1alpha1.AnyJSON{Raw: []byte(`{"port":80}`)}}
	build := func(second mockapi.ProviderConfiguration) *lsv1alpha1.Execution {
		return testkit.Execution(s.ns, "app").MockItem("a", port).MockItem("b", second, "a").MockItem("c", anything, "b").Build()
	}
	e := s.finished(t, s.launch(t, build(mockapi.ProviderConfiguration{Phase: &failed})), lsv1alpha1.PhaseFailed)
	if !strings.Contains(e.Status.LastError.Message, `"b"`) ||
		!strings.Contains(e.Status.LastError.Message, "not started as a result: c") {
		t.Errorf("last error %+v", e.Status.LastError)
	}
	e = s.finished(t, s.run(t, s.respec(t, e, build(anything).Spec.DeployItems)), lsv1alpha1.PhaseSucceeded)
	if got := string(s.exported(t, e.Status.ExportReference.Name).Data.Raw); got != `{"a":{"port":80}}` {
		t.Errorf("exported %s", got)
	}
	s.remove(t, e)
	testkit.EventuallyGone(t, s.APIServer, e)
	s.goneInOrder(t, recorder, "c", "b", "a")
}
