// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
	"espalier.dev/internal/testkit/managed"
)

const mockBlueprint = `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems:
    - name: item
      type: landscaper.gardener.cloud/mock
      config: {apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration}
`

// A process that starts beside finished installations processes each of them, but writes nothing and gets none of them from the API server.
func TestAStartBesideFinishedInstallationsCostsNothingForEach(t *testing.T) {
	const finished = 8
	for _, flow := range []landscaper.Flow{landscaper.FlowJob, landscaper.FlowContinuous} {
		t.Run(string(flow), func(t *testing.T) {
			w := managed.NewWorld(t)
			stop := w.Manage()
			for i := range finished {
				builder := testkit.Installation(w.Namespace, fmt.Sprintf("finished-%d", i)).Blueprint(mockBlueprint)
				if flow == landscaper.FlowContinuous {
					builder = builder.Continuous()
				} else {
					builder = builder.Reconcile()
				}
				one := builder.Build()
				w.Create(one)
				testkit.Eventually(t, w.APIServer, one, testkit.Is("succeeded", func(i *landscaper.Installation) bool {
					return i.Status.Phase == landscaper.PhaseSucceeded && i.Status.IsFinished() && i.Annotations[landscaper.OperationAnnotation] == ""
				}))
			}
			stop()

			before := passes(t)
			transport := faults.New(faults.Plan{})
			w.ManageOver(transport.Config(w.Config()))
			err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, testkit.Patience, true, func(context.Context) (bool, error) {
				now := passes(t)
				return now["installations"]-before["installations"] >= finished && now["execution"]-before["execution"] >= finished, nil
			})
			if err != nil {
				t.Fatalf("not everything is looked at: %v, before %v", passes(t), before)
			}
			if writes := transport.Log().Writes(); len(writes) > 0 {
				t.Errorf("something was written:\n%s", writes)
			}
			asked := transport.Log().Where(func(e faults.Entry) bool { return e.Verb == "get" && e.Namespace == w.Namespace })
			if len(asked) > 0 {
				t.Errorf("something was asked for:\n%s", asked)
			}
		})
	}
}

// passes counts the passes of the controllers of this process since its start.
func passes(t *testing.T) map[string]int {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]int{}
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "controller" {
					made[label.GetValue()] += int(metric.GetCounter().GetValue())
				}
			}
		}
	}
	return made
}
