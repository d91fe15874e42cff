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
	"espalier.dev/internal/oci"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/components"
	"espalier.dev/internal/testkit/faults"
	"espalier.dev/internal/testkit/managed"
	"espalier.dev/internal/testkit/registry"
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

// A process that starts beside finished installations processes each of them, but writes nothing, gets none of them from the API server,
// and renders none: it has no blueprint yet, so rendering would ask the registry for one.
func TestAStartBesideFinishedInstallationsCostsNothingForEach(t *testing.T) {
	const finished = 8
	for _, flow := range []landscaper.Flow{landscaper.FlowJob, landscaper.FlowContinuous} {
		t.Run(string(flow), func(t *testing.T) {
			w, shelf := managed.NewWorld(t), registry.Start(t, registry.Options{})
			components.Component{
				Name: "example.com/app", Version: "1.0.0",
				Resources: []components.Resource{components.Blueprint(t, "blueprint", map[string]string{"blueprint.yaml": mockBlueprint})},
			}.Push(t, components.Store(t, shelf, oci.Credential{}))
			w.Options.Registries.DefaultRepositoryContext = shelf.URL
			stop := w.Manage()
			for i := range finished {
				builder := testkit.Installation(w.Namespace, fmt.Sprintf("finished-%d", i)).
					BlueprintRef("blueprint").Component("example.com/app", "1.0.0")
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

			before, fetched := passes(t), len(shelf.Requests())
			w.Options.Registries.CacheDirectory = t.TempDir()
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
			if fetches := shelf.Requests()[fetched:]; len(fetches) > 0 {
				t.Errorf("blueprints were fetched, so something was rendered: %s", fetches)
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
