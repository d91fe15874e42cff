// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/oci"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/components"
	"espalier.dev/internal/testkit/registry"
)

// installed is an Installation app in a namespace, with a component in the given version and an inline blueprint.
func installed(namespace, version string) *lsv1alpha1.Installation {
	inst := testkit.Installation(namespace, "app").
		Blueprint("apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n").
		Reconcile().
		Build()
	inst.Spec.ComponentDescriptor = &lsv1alpha1.ComponentDescriptorDefinition{
		Reference: &lsv1alpha1.ComponentDescriptorReference{ComponentName: "example.com/app", Version: version},
	}
	return inst
}

// finish makes an Installation succeed with its job for the current generation, as its controller would.
func (w *world) finish(namespace, job string) {
	w.Helper()
	var inst lsv1alpha1.Installation
	if err := w.Client().Get(w.Context(), types.NamespacedName{Namespace: namespace, Name: "app"}, &inst); err != nil {
		w.Fatal(err)
	}
	before := inst.DeepCopy()
	delete(inst.Annotations, lsv1alpha1.OperationAnnotation)
	if err := w.Client().Patch(w.Context(), &inst, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
	inst.Status.JobID, inst.Status.JobIDFinished, inst.Status.Phase = job, job, lsv1alpha1.PhaseSucceeded
	inst.Status.ObservedGeneration = inst.Generation
	if err := w.Client().Status().Update(w.Context(), &inst); err != nil {
		w.Fatal(err)
	}
}

func TestPIP24_PIP04_ARevisionIsWrittenIntoTheNextInstallation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := w.places(2)
	w.Create(installed(at[0], "1.1.0"), installed(at[1], "1.0.0"))
	w.finish(at[0], "first")
	w.finish(at[1], "first")
	pipeline := testkit.Pipeline(w.Namespace, "p").App("landscaper.gardener.cloud/v1alpha1", "Installation", "app").
		Environment("dev", at[0]).Environment("prod", at[1]).Build()
	pipeline.Spec.Promotion = &pipelines.Promotion{Strategy: pipelines.Strategy{Installation: &pipelines.InstallationStrategy{}}}
	w.Create(pipeline)
	p := w.untilState("p", "prod", "1.1.0", pipelines.PromotionSucceeded)
	var changed lsv1alpha1.Installation
	if err := w.Client().Get(t.Context(), types.NamespacedName{Namespace: at[1], Name: "app"}, &changed); err != nil {
		t.Fatal(err)
	}
	if got := changed.Spec.ComponentDescriptor.Reference.Version; got != "1.1.0" ||
		changed.Annotations[lsv1alpha1.OperationAnnotation] != "reconcile" {
		t.Errorf("version %s, annotations %v", got, changed.Annotations)
	}
	if key := changed.Annotations["pipelines.espalier.dev/promotion-key"]; key != p.Status.Environments["prod"].Promotion.Key {
		t.Errorf("key %q", key)
	}
	generation := changed.Generation
	w.finish(at[1], "second")
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionComplete)
	if err := w.Client().Get(t.Context(), types.NamespacedName{Namespace: at[1], Name: "app"}, &changed); err != nil {
		t.Fatal(err)
	}
	if changed.Generation != generation || changed.Annotations[lsv1alpha1.OperationAnnotation] != "" {
		t.Errorf("it was changed again: generation %d, annotations %v", changed.Generation, changed.Annotations)
	}
}

// The controller reads the component of the next installation from the registry in the promoted version: the real controller processes the
// installations.
func TestPIP24_AComponentIsPromoted(t *testing.T) {
	t.Parallel()
	w := idleWorld(t)
	at := w.places(2)
	server := registry.Start(t, registry.Options{})
	for i, version := range []string{"1.1.0", "1.0.0"} {
		components.Component{
			Name: "example.com/app", Version: version,
			Resources: []components.Resource{components.Blueprint(t, "blueprint", map[string]string{"blueprint.yaml": `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
exports:
- {name: version, type: data, schema: {type: string}}
exportExecutions:
- {name: default, type: GoTemplate, template: "exports: {version: {{ .cd.component.version }}}"}
`})},
		}.Push(t, components.Store(t, server, oci.Credential{}))
		shelf := testkit.Context(at[i], lsv1alpha1.DefaultContextName).Build()
		shelf.RepositoryContext = &lsv1alpha1.AnyJSON{Raw: []byte(`{"type":"OCIRegistry","baseUrl":"` + server.URL + `"}`)}
		w.Create(shelf, testkit.Installation(at[i], "app").BlueprintRef("blueprint").Component("example.com/app", version).
			ExportData("version", "version").Reconcile().Build())
	}
	w.Options.Controllers = []string{"pipelines", "installations"}
	w.Options.Namespaces = append(w.Options.Namespaces, at...)
	w.Manage()
	pipeline := testkit.Pipeline(w.Namespace, "p").App("landscaper.gardener.cloud/v1alpha1", "Installation", "app").
		Environment("dev", at[0]).Environment("prod", at[1]).Build()
	pipeline.Spec.Promotion = &pipelines.Promotion{Strategy: pipelines.Strategy{Installation: &pipelines.InstallationStrategy{}}}
	w.Create(pipeline)
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionComplete)
	exported := testkit.DataObject(at[1], "version", "").Build()
	if err := w.Client().Get(t.Context(), client.ObjectKeyFromObject(exported), exported); err != nil {
		t.Fatal(err)
	}
	if got := string(exported.Data.Raw); got != `"1.1.0"` {
		t.Errorf("the second environment exports %s, want the promoted version", got)
	}
}

// Without a component, spec.revisionField says what is promoted; the real controller processes the installations.
func TestPIP24_ARevisionWithoutAComponentIsPromoted(t *testing.T) {
	t.Parallel()
	w := idleWorld(t)
	at := w.places(2)
	for i, version := range []string{"1.1.0", "1.0.0"} {
		inst := testkit.Installation(at[i], "app").Blueprint(`
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports:
- {name: version, type: data, schema: {type: string}}
`).MapImport("version", version).Continuous().Build()
		inst.Spec.RevisionField = "importDataMappings.version"
		w.Create(inst)
	}
	w.Options.Controllers = []string{"pipelines", "installations"}
	w.Options.Namespaces = append(w.Options.Namespaces, at...)
	w.Manage()
	pipeline := testkit.Pipeline(w.Namespace, "p").App("landscaper.gardener.cloud/v1alpha1", "Installation", "app").
		Environment("dev", at[0]).Environment("prod", at[1]).Build()
	pipeline.Spec.Promotion = &pipelines.Promotion{Strategy: pipelines.Strategy{Installation: &pipelines.InstallationStrategy{}}}
	w.Create(pipeline)
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionComplete)
	changed := testkit.Installation(at[1], "app").Build()
	if err := w.Client().Get(t.Context(), client.ObjectKeyFromObject(changed), changed); err != nil {
		t.Fatal(err)
	}
	if got := string(changed.Spec.ImportDataMappings["version"].Raw); got != `"1.1.0"` || changed.Status.Phase != lsv1alpha1.PhaseSucceeded {
		t.Errorf("prod has version %s and is in phase %s", got, changed.Status.Phase)
	}
}

func TestPIP24_AnInstallationWithoutComponentVersionIsRejected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := w.places(2)
	bare := installed(at[1], "1.0.0")
	bare.Spec.ComponentDescriptor = nil
	w.Create(installed(at[0], "1.1.0"), bare)
	w.finish(at[0], "first")
	w.finish(at[1], "first")
	pipeline := testkit.Pipeline(w.Namespace, "p").App("landscaper.gardener.cloud/v1alpha1", "Installation", "app").
		Environment("dev", at[0]).Environment("prod", at[1]).Build()
	pipeline.Spec.Promotion = &pipelines.Promotion{Strategy: pipelines.Strategy{Installation: &pipelines.InstallationStrategy{}}}
	w.Create(pipeline)
	p := w.until("p", "held in prod", func(p *pipelines.Pipeline) bool {
		return len(p.Status.Holds) > 0 && p.Status.Holds[0].Environment == "prod"
	})
	if message := p.Status.Holds[0].Message; !strings.Contains(message, "revision") &&
		!strings.Contains(message, "spec.componentDescriptor") {
		t.Errorf("the hold says %q", message)
	}
}
