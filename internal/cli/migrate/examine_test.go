// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/check"
	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/faults"
)

// canary is a value that nobody must see.
const canary = "s3cret-canary-value"

// expectation is a finding: its level and object, and a part of the message or of the advice.
type expectation struct {
	level check.Level
	text  string
}

// wants compares findings with what is expected, by code and object. NAMESPACE is that of the estate.
func (e *estate) wants(findings []Finding, want map[string]expectation) {
	e.Helper()
	got := map[string]Finding{}
	for _, finding := range findings {
		got[finding.Code+" "+strings.ReplaceAll(finding.Object, "<namespace>", "NAMESPACE")] = finding
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		e.Errorf("the findings (-want +got):\n%s", diff)
	}
	for key, expected := range want {
		finding := got[key]
		text := finding.Message + "\n" + strings.Join(finding.Next, "\n")
		if finding.Level != expected.level || !strings.Contains(text, expected.text) {
			e.Errorf("%s is %s:\n%s", key, finding.Level, text)
		}
	}
}

// withFields adds fields to a definition that Espalier does not have.
func withFields(definition *apiextensionsv1.CustomResourceDefinition) {
	for _, part := range []string{"spec", "status"} {
		definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties[part].Properties["later"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	}
}

// withAnyContext lets the name of the Context be anything.
func withAnyContext(definition *apiextensionsv1.CustomResourceDefinition) {
	definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["context"] = apiextensionsv1.JSONSchemaProps{
		XPreserveUnknownFields: new(true),
	}
}

// kindOf is a kind of Landscaper that Espalier does not serve.
func kindOf(kind string) *apiextensionsv1.CustomResourceDefinition {
	plural := strings.ToLower(kind) + "s"
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + lsv1alpha1.GroupName},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: lsv1alpha1.GroupName, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: strings.ToLower(kind), Kind: kind, ListKind: kind + "List"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1alpha1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: new(true),
				}},
			}},
		},
	}
}

func blueprintOf(text string) string {
	return "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n" + text
}

// plant fills the estate with everything that a check has to find.
func (e *estate) plant() {
	e.Helper()
	for _, definition := range references(e.T) {
		if definition.Spec.Names.Kind == "Installation" {
			withFields(definition)
			withAnyContext(definition)
			e.InstallCRD(e.T, definition)
		}
	}
	e.InstallCRD(e.T, kindOf("LsHealthCheck"), kindOf("Environment"))
	driven := deployment("other-helm-deployer", 1, "example.com/helm-deployer-controller:v1")
	driven.Labels = map[string]string{"argocd.argoproj.io/instance": "landscaper"}
	driven.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "HELM_DRIVER", Value: "configmap"}, {Name: "TOKEN", Value: canary}}
	e.Create(driven, deployment("espalier-controller", 1, "espalier.dev/espalier-controller:v1"),
		deployment("pipeline-controller", 1, "example.com/pipeline-controller:v1"))
	e.plantInstallations()
	e.plantItems()
	elsewhere := lsv1alpha1.SecretReference{ObjectReference: lsv1alpha1.ObjectReference{Namespace: "keys", Name: "key"}}
	signed := testkit.Context(e.Namespace, "signed").Repository(map[string]any{"type": "local"}).Build()
	signed.VerificationSignatures = map[string]lsv1alpha1.VerificationSignature{"release": {PublicKeySecretReference: &elsewhere}}
	missing := testkit.Context(e.Namespace, "missing").Build()
	missing.OCMConfig = &lsv1alpha1.LocalObjectReference{Name: "nowhere"}
	partial := testkit.Context(e.Namespace, "partial").Build()
	partial.OCMConfig = &lsv1alpha1.LocalObjectReference{Name: "partial"}
	broken := testkit.Context(e.Namespace, "broken").Build()
	broken.OCMConfig = &lsv1alpha1.LocalObjectReference{Name: "broken"}
	e.Create(signed, missing, partial, broken,
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: "partial"},
			Data:       map[string]string{".ocmconfig": "type: somebody.example.com/v1\npassword: " + canary + "\n"},
		},
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: "broken"}, Data: map[string]string{".ocmconfig": "- " + canary},
		})
}

func (e *estate) plantInstallations() {
	e.Helper()
	busy := testkit.Installation(e.Namespace, "busy").Build()
	busy.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing)
	changed := testkit.Installation(e.Namespace, "changed").Annotate(lsv1alpha1.ReconcileIfChangedAnnotation, "true").Build()
	changed.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded, func(s *lsv1alpha1.RunStatus) { s.ObservedGeneration = 0 })
	stuck := testkit.Installation(e.Namespace, "stuck").Build()
	stuck.Finalizers = []string{lsv1alpha1.Finalizer}
	stuck.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseDeleteFailed)
	automatic := testkit.Installation(e.Namespace, "automatic").Build()
	automatic.Spec.AutomaticReconcile = &lsv1alpha1.AutomaticReconcile{SucceededReconcile: &lsv1alpha1.SucceededReconcile{}}
	nested := testkit.Installation(e.Namespace, "nested").Build()
	nested.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing)
	nested.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: lsv1alpha1.SchemeGroupVersion.String(), Kind: "Installation", Name: "busy", UID: "1", Controller: new(true),
	}}
	feeding := testkit.Installation(e.Namespace, "feeding").Build()
	feeding.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded)
	feeding.Status.DependentsToTrigger = []lsv1alpha1.DependentToTrigger{{Name: "next"}}
	clitest.Store(e.T, e.APIServer, feeding, busy, changed, stuck, automatic, nested,
		testkit.Installation(e.Namespace, "asked").Reconcile().Build(),
		testkit.Installation(e.Namespace, "misspelt").Blueprint(blueprintOf("deployExecution: ["+canary+"]\n")).Build(),
		testkit.Installation(e.Namespace, "odd").Blueprint(blueprintOf(
			"imports:\n- name: size\n  schema: {type: string}\ndeployExecutions:\n- name: d\n  type: Spiff\n  template: {deployItems: []}\n")).Build(),
		testkit.Installation(e.Namespace, "lenient").Blueprint(blueprintOf(
			"deployExecutions:\n- name: d\n  type: GoTemplate\n  template: 'deployItems: []'\n")).Build(),
		testkit.Installation(e.Namespace, "remote").BlueprintRef("blueprint").Component("example.com/c", "1.0.0").Build(),
	)
	e.Delete(stuck)
	extra := e.plain("extra", map[string]any{"later": canary})
	e.Create(extra, e.plain("typed", map[string]any{"context": int64(5)}))
	e.PatchStatus(extra, `{"status":{"observedGeneration":1,"later":"`+canary+`"}}`)
}

// plain is an installation with fields that ours do not have.
func (e *estate) plain(name string, spec map[string]any) *unstructured.Unstructured {
	spec["blueprint"] = map[string]any{"ref": map[string]any{"resourceName": "b"}}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(lsv1alpha1.SchemeGroupVersion.WithKind("Installation"))
	object.SetNamespace(e.Namespace)
	object.SetName(name)
	return object
}

// more is how many items more than fit into a report have the same finding.
const more = 7

func (e *estate) plantItems() {
	e.Helper()
	type configuration map[string]any
	for i := range shown + more {
		e.Create(testkit.DeployItem(e.Namespace, fmt.Sprintf("again-%03d", i)).Config(lsv1alpha1.DeployItemTypeManifest, configuration{
			"apiVersion": "manifest.deployer.landscaper.gardener.cloud/v1alpha2", "kind": "ProviderConfiguration",
			"continuousReconcile": configuration{"every": "1h"},
		}).Build())
	}
	foreign := testkit.DeployItem(e.Namespace, "foreign").Config("example.com/terraform", configuration{"apiVersion": "v1", "kind": "T"}).Build()
	foreign.Status.Deployer.Name = "terraformer"
	unserved := testkit.DeployItem(e.Namespace, "unserved").Config("example.com/nobody", configuration{"apiVersion": "v1", "kind": "N"}).Build()
	again := unserved.DeepCopy()
	again.Name = "unserved-too"
	clitest.Store(e.T, e.APIServer, foreign, unserved, again)
}

// Everything that Espalier does not support or treats differently is found, and nothing is changed or given away.
func TestTheCheckFindsWhatIsDifferent(t *testing.T) {
	e := landscaped(t)
	e.plant()
	before, objects := e.everything(), e.objects()
	result, report := e.report("--dry-run")
	if result.Code != cli.ExitNeedsSomebody {
		t.Errorf("the exit code is %d", result.Code)
	}
	again := slices.DeleteFunc(slices.Clone(report.Findings), func(f Finding) bool { return f.Code != codeContinuous })
	if len(again) != shown+1 || again[shown].Object != fmt.Sprintf("%d more objects", more) {
		t.Errorf("of %d items %d are named, and then %+v", shown+more, len(again)-1, again[len(again)-1])
	}
	rest := slices.DeleteFunc(slices.Clone(report.Findings), func(f Finding) bool { return f.Code == codeContinuous })
	e.wants(rest, wantedOfLandscaper)
	for _, d := range report.Definitions {
		if d.Name == "deployitems.landscaper.gardener.cloud" && (d.Objects == nil || *d.Objects != shown+more+3) || d.Espalier {
			t.Errorf("a definition is told as %+v", d)
		}
	}
	if len(report.Controllers) != 4 || len(report.Definitions) != 10 {
		t.Errorf("controllers %+v\ndefinitions %+v", report.Controllers, report.Definitions)
	}
	e.checkNoTrace(canary, result)

	blocked := e.migrate("--yes")
	if blocked.Code != cli.ExitNeedsSomebody || !strings.Contains(blocked.Stderr, "nothing was changed") ||
		strings.Contains(blocked.Stderr, codeJobRunning) {
		t.Errorf("the take-over ends with %d:\n%s", blocked.Code, blocked.Stderr)
	}
	e.checkNoTrace(canary, blocked)
	e.checkReferences(report.Findings, blocked.Stdout)
	ignored := e.migrate("--dry-run", "--ignore", strings.Join(codeNames(), ","))
	if ignored.Code != cli.ExitOK || !strings.Contains(ignored.Stdout, "Errors: 0, warnings: 0, notes: 0, ignored: ") {
		t.Errorf("with everything ignored, the check ends with %d:\n%s", ignored.Code, ignored.Stdout)
	}
	if diff := cmp.Diff(before, e.everything()); diff != "" {
		t.Errorf("something was changed:\n%s", diff)
	}
	if diff := cmp.Diff(objects, e.objects()); diff != "" {
		t.Errorf("objects were written:\n%s", diff)
	}
}

// checkReferences checks that each code points to its section: in data at each finding, in text once.
func (e *estate) checkReferences(findings []Finding, text string) {
	e.Helper()
	for _, finding := range findings {
		want := "docs/migration.md#" + finding.Code
		if finding.Reference != want || strings.Count(text, "\n           see:  "+want+"\n") != 1 {
			e.Errorf("%s %s refers to %q, in\n%s", finding.Code, finding.Object, finding.Reference, text)
		}
	}
}

var wantedOfLandscaper = map[string]expectation{
	"helm-driver Deployment landscaper-system/other-helm-deployer":                      {check.Wrong, "in ConfigMaps"},
	"managed-deployment Deployment landscaper-system/other-helm-deployer":               {check.Doubtful, "Argo CD"},
	"espalier-runs Deployment landscaper-system/espalier-controller":                    {check.Wrong, "--replicas 0"},
	"other-system-runs Deployment landscaper-system/pipeline-controller":                {check.Doubtful, "pipeline-controller"},
	"kind-not-served CustomResourceDefinition lshealthchecks.landscaper.gardener.cloud": {Note, "kubectl delete crd"},
	"kind-not-served CustomResourceDefinition environments.landscaper.gardener.cloud":   {check.Doubtful, "no controller processes them"},
	"foreign-webhook ValidatingWebhookConfiguration policy":                             {check.Doubtful, "it stays"},
	"field-lost Installation NAMESPACE/extra":                                           {check.Wrong, "spec.later"},
	"status-field-lost Installation NAMESPACE/extra":                                    {check.Doubtful, "status.later"},
	"job-running Installation NAMESPACE/busy":                                           {check.Wrong, "in phase Progressing"},
	"job-requested Installation NAMESPACE/asked":                                        {check.Wrong, "operation reconcile"},
	"job-requested Installation NAMESPACE/feeding":                                      {check.Wrong, "dependentsToTrigger"},
	"unreadable Installation NAMESPACE/typed":                                           {check.Wrong, "another type"},
	"job-requested Installation NAMESPACE/changed":                                      {check.Wrong, "reconcile-if-changed"},
	"deletion-failed Installation NAMESPACE/stuck":                                      {check.Doubtful, "could not be deleted"},
	"automatic-reconcile Installation NAMESPACE/automatic":                              {Note, "when it is due"},
	"blueprint-error Installation NAMESPACE/misspelt":                                   {check.Wrong, "deployExecution"},
	"blueprint-warning Installation NAMESPACE/odd":                                      {check.Doubtful, "uses the import"},
	"strict-templates Installation NAMESPACE/lenient":                                   {check.Doubtful, "allowMissingKeys"},
	"blueprint-elsewhere Installation NAMESPACE/extra and 1 more":                       {Note, "was not checked"},
	"no-deployer DeployItem NAMESPACE/foreign":                                          {check.Doubtful, "leave that deployer running"},
	"no-deployer DeployItem NAMESPACE/unserved and 1 more":                              {check.Doubtful, "no deployer has picked one up"},
	"local-components Context NAMESPACE/signed":                                         {check.Doubtful, "--components-dir"},
	"key-elsewhere Context NAMESPACE/signed":                                            {check.Wrong, "namespace keys"},
	"ocm-config Context NAMESPACE/missing":                                              {check.Wrong, "nowhere"},
	"ocm-config Context NAMESPACE/partial":                                              {check.Doubtful, "have no effect here"},
	"ocm-config Context NAMESPACE/broken":                                               {check.Wrong, "broken"},
}

// A cluster without the other system has nothing to take over. The system may run in another cluster, and then it goes on working. A
// definition whose objects are stored in a version that Espalier does not know stays.
func TestWhatBlocksATakeover(t *testing.T) {
	e := &estate{World: testkit.WorldOn(t, testkit.NewServer(t)), command: []string{"landscaper"}}
	if result := e.migrate("--yes"); result.Code != cli.ExitNotFound || !strings.Contains(result.Stderr, "neither CRDs nor controllers") {
		t.Errorf("in an empty cluster it ends with %d: %s", result.Code, result.Stderr)
	}
	e.InstallCRD(t, append(references(t), kindOf("LsHealthCheck"))...)
	result, report := e.report("--dry-run")
	if result.Code != cli.ExitNeedsSomebody || !hasFinding(report, codeControllersElsewhere, "If it runs in another cluster") {
		t.Errorf("without controllers it ends with %d: %+v", result.Code, report.Findings)
	}
	sign := &unstructured.Unstructured{Object: map[string]any{"lastUpdateTime": clitest.Ago(time.Minute).UTC().Format(time.RFC3339)}}
	sign.SetGroupVersionKind(schema.GroupVersionKind{Group: lsv1alpha1.GroupName, Version: "v1alpha1", Kind: "LsHealthCheck"})
	sign.SetNamespace(e.Namespace)
	sign.SetName("landscaper")
	e.Create(sign)
	if _, report := e.report("--dry-run"); !hasFinding(report, codeControllersElsewhere, "it runs somewhere else") {
		t.Errorf("with a sign of life: %+v", report.Findings)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "targets.landscaper.gardener.cloud"}}
	change(e, definition, func(d *apiextensionsv1.CustomResourceDefinition) {
		later := d.Spec.Versions[0].DeepCopy()
		later.Name, later.Storage = "v9", false
		d.Spec.Versions = append(d.Spec.Versions, *later)
	})
	definition.Status.StoredVersions = append(definition.Status.StoredVersions, "v9")
	if err := e.Client().Status().Update(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	result, report = e.report("--dry-run")
	if result.Code != cli.ExitNeedsSomebody || !hasFinding(report, codeDefinition, "stored in version v9") {
		t.Errorf("with another version it ends with %d: %+v", result.Code, report.Findings)
	}
}

func hasFinding(report Report, code, text string) bool {
	return slices.ContainsFunc(report.Findings, func(f Finding) bool { return f.Code == code && strings.Contains(f.Message, text) })
}

// Weave's pipelines: what is different is found, the definitions of Landscaper stay, and the way back leads to where it began.
func TestPipelinesOfWeave(t *testing.T) {
	e := newEstate(t, "weave-pipelines")
	e.Create(deployment("pipeline-controller", 2, "ghcr.io/weaveworks/pipeline-controller:v0.21.0"))
	promoting := testkit.Pipeline(e.Namespace, "shop").App("helm.toolkit.fluxcd.io/v2", "HelmRelease", "shop").
		Environment("dev", e.Namespace).Environment("prod", "elsewhere").Notification().Build()
	settled := testkit.Pipeline(e.Namespace, "settled").App("example.com/v1", "Thing", "thing").
		Environment("dev", e.Namespace).Environment("prod", e.Namespace).Notification().Manual().Build()
	e.Create(promoting, settled)
	e.setRevisions(promoting, "1.1.0", "1.0.0")
	e.setRevisions(settled, "1.0.0", "1.0.0")
	before, objects := e.everything(), e.objects()
	result, report := e.report("--dry-run")
	if result.Code != cli.ExitOK {
		t.Errorf("the check ends with %d: %s", result.Code, result.Stderr)
	}
	e.wants(report.Findings, map[string]expectation{
		"promotes-by-itself Pipeline NAMESPACE/shop":  {check.Doubtful, "environment prod"},
		"grant-missing Pipeline NAMESPACE/shop":       {check.Doubtful, "HelmRelease elsewhere/shop"},
		"application-kind Pipeline NAMESPACE/settled": {check.Doubtful, "--application-kinds"},
		"http-approvals Pipeline NAMESPACE/settled":   {check.Doubtful, "espalier-approver"},
	})
	e.succeeds("--yes")
	after := e.everything()
	for title := range before {
		name, isDefinition := strings.CutPrefix(title, "CustomResourceDefinition /")
		if changed := before[title] != after[title]; isDefinition && changed != strings.HasSuffix(name, ".weave.works") {
			t.Errorf("%s was replaced: %t", title, changed)
		}
	}
	if e.replicas("pipeline-controller") != 0 {
		t.Error("the controller runs")
	}
	// Its controllers hold Pipelines with open pull requests. Somebody deletes one of them, without an end.
	build := func(name string) *pipelines.Pipeline {
		return testkit.Pipeline(e.Namespace, name).App("example.com/v1", "Thing", name).Environment("dev", e.Namespace).Build()
	}
	held, deleted := build("held"), build("deleted")
	held.Finalizers = []string{"example.com/other", pipeline.Finalizer}
	deleted.Finalizers = []string{pipeline.Finalizer}
	e.Create(held, deleted)
	e.Delete(deleted)
	transport := faults.New(faults.At(1, faults.CrashAfter))
	if err := e.over(transport, weavePipelines(), true); err == nil || !transport.IsCrashed() {
		t.Errorf("killed after the first finalizer, it ends with %v", err)
	}
	if result := e.succeeds("--back", "--yes"); !strings.Contains(result.Stderr, "Pipeline <namespace>/held: finalizer removed") {
		t.Errorf("the removed finalizers are not told:\n%s", result.Stderr)
	}
	if e.Read(deleted) {
		t.Error("the deleted Pipeline is still there")
	}
	if !e.Read(held) || !slices.Equal(held.Finalizers, []string{"example.com/other"}) {
		t.Errorf("a Pipeline has the finalizers %v", held.Finalizers)
	}
	e.Patch(held, `{"metadata":{"finalizers":null}}`)
	e.Delete(held)
	e.checkAsBefore(before)
	if diff := cmp.Diff(objects, e.objects()); diff != "" {
		t.Errorf("objects were written:\n%s", diff)
	}
}

func (e *estate) setRevisions(p *pipelines.Pipeline, revisions ...string) {
	e.Helper()
	environments := map[string]any{}
	for i, environment := range p.Spec.Environments {
		environments[environment.Name] = map[string]any{
			"waitingApproval": map[string]any{"revision": ""},
			"targets": []any{map[string]any{
				"ready": true, "revision": revisions[i], "clusterAppRef": map[string]any{"apiVersion": "v1", "kind": "K", "name": "n"},
			}},
		}
	}
	e.SetStatus(client.Object(p), map[string]any{"environments": environments})
}

// Whoever brings Landscaper back while it is taken over is noticed, since both must not run. Going back loses what Landscaper does not
// know, which is said before.
func TestGoingBackLosesNothingUnsaid(t *testing.T) {
	e := landscaped(t)
	transport := faults.New(faults.Plan{})
	transport.Before(8, func() { e.Patch(deployment("landscaper", 0, ""), `{"spec":{"replicas":4}}`) }) // Definitions are being installed.
	err := e.over(transport, landscaper(), false)
	if err == nil || !strings.Contains(err.Error(), "Deployment landscaper-system/landscaper was started again") {
		t.Errorf("it is said: %v\n%s", err, transport.Log().Writes())
	}
	e.succeeds("--yes")
	if text := e.record().Data[stateKey]; !strings.Contains(text, `"replicas":4`) || !strings.Contains(text, `"finished":true`) {
		t.Errorf("the record says %s", text)
	}
	e.Create(testkit.Installation(e.Namespace, "flowing").Continuous().Build())
	result, report := e.report("--back", "--dry-run")
	if result.Code != cli.ExitNeedsSomebody || !hasFinding(report, codeFieldLost, "Landscaper does not know and the API server drops: spec.flow") {
		t.Errorf("it ends with %d: %+v", result.Code, report.Findings)
	}
	e.Delete(deployment("helm-deployer", 0, ""))
	result = e.succeeds("--back", "--yes", "--ignore", codeFieldLost)
	if !strings.Contains(result.Stdout, codeDeploymentGone) || e.replicas("landscaper") != 4 {
		t.Errorf("a Deployment that is gone is not told:\n%s", result.Stdout)
	}
}

// The page has a section for every code, which is its heading.
func TestEveryCodeIsExplained(t *testing.T) {
	page, err := os.ReadFile("../../../docs/migration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range codeNames() {
		if !strings.Contains(string(page), "\n### `"+code+"`\n\n**") {
			t.Errorf("docs/migration.md has no section on %s", code)
		}
	}
}
