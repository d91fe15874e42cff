// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/run"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/managed"
)

func TestMain(m *testing.M) { testkit.MainWithOthers(m) }

// world is a namespace with the root installation shop.
type world struct{ *managed.World }

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	return &world{managed.NewWorld(t)}
}

func (w *world) run(command func(cli.Environment) *cobra.Command, args ...string) clitest.Result {
	w.Helper()
	return w.answer("", command, args...)
}

// answer runs a command that reads something from standard input.
func (w *world) answer(stdin string, command func(cli.Environment) *cobra.Command, args ...string) clitest.Result {
	w.Helper()
	return clitest.Run(w.T, w.APIServer, w.Namespace, clitest.Call{Command: command, Args: args, Stdin: stdin})
}

// shop builds an installation that deploys a ConfigMap of a colour.
func (w *world) shop(colour string) *testkit.InstallationBuilder {
	blueprint := strings.NewReplacer("NAMESPACE", w.Namespace, "COLOUR", colour).Replace(shopBlueprint)
	return testkit.Installation(w.Namespace, "shop").ImportTarget("cluster", "cluster").Blueprint(blueprint)
}

// paint gives the installation the spec of a colour, and waits until its job has ended.
func (w *world) paint(colour string, phase lsv1alpha1.Phase) {
	w.Helper()
	before := w.root()
	w.give(colour)
	w.Annotate(before, lsv1alpha1.OperationAnnotation, string(lsv1alpha1.OperationReconcile))
	testkit.Eventually(w.T, w.APIServer, before, testkit.Is("done with another job", func(i *lsv1alpha1.Installation) bool {
		return i.Status.IsFinished() && i.Status.JobID != before.Status.JobID && i.Status.Phase == phase
	}))
}

// give gives the installation the spec of a colour.
func (w *world) give(colour string) {
	w.Helper()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"blueprint": w.shop(colour).Build().Spec.Blueprint}})
	if err != nil {
		w.Fatal(err)
	}
	w.Patch(w.root(), string(patch))
}

func (w *world) root() *lsv1alpha1.Installation {
	w.Helper()
	found := testkit.Installation(w.Namespace, "shop").Build()
	if !w.Read(found) {
		w.Fatal("installation shop does not exist")
	}
	return found
}

// colour is that of the ConfigMap.
func (w *world) colour() string {
	w.Helper()
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "settings"}}
	if !w.Read(settings) {
		w.Fatal("ConfigMap settings does not exist")
	}
	return settings.Data["colour"]
}

const shopBlueprint = `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports:
- {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems:
    - name: objects
      type: landscaper.gardener.cloud/kubernetes-manifest
      target: {import: cluster}
      config:
        apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
        kind: ProviderConfiguration
        readinessChecks: {disableDefault: true}
        manifests:
        - manifest:
            apiVersion: v1
            kind: ConfigMap
            metadata: {name: settings, namespace: NAMESPACE}
            data: {colour: COLOUR}
`

// past is a version of the component, and how its job ended.
type past struct {
	version string
	phase   lsv1alpha1.Phase
}

// remembering returns an installation that has had jobs with these versions, one after the other, as the controllers record them. No
// controllers run.
func (w *world) remembering(jobs ...past) *lsv1alpha1.Installation {
	inst := testkit.Installation(w.Namespace, "shop").Finalizer(lsv1alpha1.Finalizer).Build()
	now := clitest.Ago(time.Duration(len(jobs)) * time.Hour)
	for i, job := range jobs {
		now = now.Add(30 * time.Minute)
		inst.Generation = int64(i + 1)
		inst.Spec.ComponentDescriptor = &lsv1alpha1.ComponentDescriptorDefinition{
			Reference: &lsv1alpha1.ComponentDescriptorReference{ComponentName: "example.com/shop", Version: job.version},
		}
		o := installation.Observed{Root: true, Phase: inst.Status.Phase, Job: run.JobOf(&inst.Status.RunStatus), NewJobID: jobIDs[i], Now: now}
		o = installation.Settle(inst, o, installation.Decision{Next: lsv1alpha1.PhaseInit}, nil)
		o.Now = now.Add(time.Minute)
		if job.phase != "" {
			installation.Settle(inst, o, installation.Decision{Next: job.phase}, nil)
		}
	}
	inst.Generation = 0
	return inst
}

var jobIDs = []string{
	"11111111-0000-4000-8000-000000000000", "22222222-0000-4000-8000-000000000000", "33333333-0000-4000-8000-000000000000",
}

// stored stores an installation after some changes.
func (w *world) stored(inst *lsv1alpha1.Installation, changes ...func(*lsv1alpha1.Installation)) *lsv1alpha1.Installation {
	w.Helper()
	for _, change := range changes {
		change(inst)
	}
	clitest.Store(w.T, w.APIServer, inst)
	return inst
}
