// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rights_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gitops "espalier.dev/api/gitops/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/approval"
	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/testkit"
)

// terraformKind returns the part of the CRD Terraform that pipelines need.
func terraformKind() *apiextensionsv1.CustomResourceDefinition {
	kind := testkit.FluxAlerts()
	kind.Name = "terraforms.infra.contrib.fluxcd.io"
	kind.Spec.Group = "infra.contrib.fluxcd.io"
	kind.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{
		Kind: "Terraform", ListKind: "TerraformList", Plural: "terraforms", Singular: "terraform",
	}
	kind.Spec.Versions[0].Name = "v1alpha2"
	kind.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{
		Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
	}
	return kind
}

// application creates an application of Flux, which the test plays: it runs a revision and is healthy.
func (s *scene) application(apiVersion, kind, namespace, revision string) {
	s.Helper()
	app := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	app.SetNamespace(namespace)
	app.SetName("app")
	if !s.Read(app) {
		s.Create(app)
	}
	app.Object["status"] = map[string]any{
		"observedGeneration":  app.GetGeneration(),
		"lastAppliedRevision": revision,
		"history":             []any{map[string]any{"chartVersion": revision, "status": "deployed", "version": int64(1)}},
		"conditions": []any{map[string]any{
			"type": "Ready", "status": "True", "reason": "Tested", "message": "as the test says", "observedGeneration": app.GetGeneration(),
			"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
		}},
	}
	if err := s.Client().Status().Update(s.Context(), app); err != nil {
		s.Fatal(err)
	}
}

// reaches waits until the promotion of a revision to prod has reached a state.
func (s *scene) reaches(revision string, state pipelines.PromotionState) *pipelines.Pipeline {
	s.Helper()
	return testkit.Eventually(s.T, s.APIServer, testkit.Pipeline(s.Namespace, "p").Build(),
		testkit.Is("promoting "+revision+": "+string(state), func(p *pipelines.Pipeline) bool {
			promotion := p.Status.Environments["prod"].Promotion
			return promotion != nil && promotion.Revision == revision && promotion.State == state
		}))
}

const approvalKey = "a-key-of-more-than-thirty-two-bytes-for-tests"

// promotions promotes HelmReleases, by notification. One promotion is approved by a signed call, one by an annotation, and one by a call
// with a token.
func (s *scene) promotions() {
	dev, prod := s.GrantedNamespace(s.T, s.Namespace), s.GrantedNamespace(s.T, s.Namespace)
	line := testkit.Pipeline(s.Namespace, "p").App("helm.toolkit.fluxcd.io/v2", "HelmRelease", "app").
		Environment("dev", dev).Environment("prod", prod).Notification().Manual().Build()
	line.Spec.Promotion.Strategy.SecretRef = &pipelines.LocalObjectReference{Name: "key"}
	s.Create(s.secret("key", "hmac-key", approvalKey), line)
	// As long as there is no application, the namespace is looked up.
	testkit.Eventually(s.T, s.APIServer, line, testkit.Is("told that nothing is there", func(p *pipelines.Pipeline) bool {
		return p.Status.ObservedGeneration == p.Generation
	}))
	approver := s.as(s.person("ann", "approver"))
	s.application("helm.toolkit.fluxcd.io/v2", "HelmRelease", prod, "1.0.0")
	for i, approve := range []func(string){
		func(revision string) { s.call(revision, s.signed) },
		func(revision string) { s.annotated(approver, revision) },
		func(revision string) { s.call(revision, s.shown) },
	} {
		revision := fmt.Sprintf("1.%d.0", i+1)
		s.application("helm.toolkit.fluxcd.io/v2", "HelmRelease", dev, revision)
		s.reaches(revision, pipelines.PromotionUnapproved)
		approve(revision)
		s.reaches(revision, pipelines.PromotionSucceeded)
		s.application("helm.toolkit.fluxcd.io/v2", "HelmRelease", prod, revision)
		s.reaches(revision, pipelines.PromotionComplete)
	}
	testkit.Eventually(s.T, s.APIServer, line, testkit.Is("answered", func(p *pipelines.Pipeline) bool { return len(p.Annotations) == 0 }))
	s.removed(line)
}

// annotated approves a promotion as the command line does.
func (s *scene) annotated(by client.Client, revision string) {
	s.Helper()
	name, value := pipeline.Request{
		ID: "a", Action: pipelines.RequestApprove, Environment: "prod", Revision: revision, By: "ann", Time: metav1.Now().Time,
	}.Text()
	change, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{name: value}}})
	if err == nil {
		err = by.Patch(s.Context(), testkit.Pipeline(s.Namespace, "p").Build(), client.RawPatch(types.MergePatchType, change))
	}
	if err != nil {
		s.Fatal(err)
	}
}

// call approves a promotion over HTTP.
func (s *scene) call(revision string, prove func(*http.Request)) {
	s.Helper()
	place := fmt.Sprintf("/approval/%s/p/prod/%s", s.Namespace, revision)
	request, err := http.NewRequestWithContext(s.Context(), http.MethodPost, "http://"+s.estate.approvals+place, nil)
	if err != nil {
		s.Fatal(err)
	}
	prove(request)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent {
		s.Fatalf("the approval of %s is answered with %s", revision, answer.Status)
	}
}

// signed signs a call.
func (s *scene) signed(request *http.Request) {
	nonce := base64.RawURLEncoding.EncodeToString([]byte("nonce-of-" + s.Namespace))
	input := fmt.Sprintf(`("@method" "@path");created=%d;nonce="%s";tag="espalier"`, time.Now().Unix(), nonce)
	mac := hmac.New(sha256.New, []byte(approvalKey))
	fmt.Fprintf(mac, "\"@method\": POST\n\"@path\": %s\n\"@signature-params\": %s", request.URL.Path, input)
	request.Header.Set("Signature-Input", "sig="+input)
	request.Header.Set("Signature", "sig=:"+base64.StdEncoding.EncodeToString(mac.Sum(nil))+":")
}

// shown adds the token of a user who may approve to a call.
func (s *scene) shown(request *http.Request) {
	request.Header.Set("Authorization", "Bearer "+s.token("ann", approval.TokenAudience))
}

// otherKinds promotes the applications of Flux other than HelmReleases.
func (s *scene) otherKinds() {
	for kind, version := range map[string]string{
		"Kustomization": "kustomize.toolkit.fluxcd.io/v1", "Terraform": "infra.contrib.fluxcd.io/v1alpha2",
	} {
		s.application(version, kind, s.Namespace, "1.0.0")
		line := testkit.Pipeline(s.Namespace, "of-"+map[string]string{"Kustomization": "k", "Terraform": "t"}[kind]).
			App(version, kind, "app").Environment("dev", s.Namespace).Notification().Build()
		s.Create(line)
		s.sees(line, "dev")
	}
}

// otherClusters promotes in those of a GitopsCluster and of two Targets: one with a kubeconfig, and one that leads back.
func (s *scene) otherClusters() {
	s.clusters()
	place := &gitops.GitopsCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "leaf"},
		Spec:       gitops.GitopsClusterSpec{SecretRef: &gitops.LocalObjectReference{Name: "access"}},
	}
	s.Create(place)
	s.SetStatus(place, map[string]any{"conditions": []any{map[string]any{
		"type": "Ready", "status": "True", "reason": "Tested", "message": "", "lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
	}}})
	s.application("helm.toolkit.fluxcd.io/v2", "HelmRelease", s.Namespace, "1.0.0")
	line := testkit.Pipeline(s.Namespace, "p").App("helm.toolkit.fluxcd.io/v2", "HelmRelease", "app").
		EnvironmentOn("leaf", "leaf", s.Namespace).Environment("spare", s.Namespace).Environment("cluster", s.Namespace).Notification().Build()
	for i := range line.Spec.Environments[1:] {
		environment := &line.Spec.Environments[i+1]
		environment.Targets[0].ClusterRef = &pipelines.ClusterReference{Kind: pipelines.ClusterKindTarget, Name: environment.Name}
	}
	s.Create(line)
	s.sees(line, "leaf", "spare", "cluster")
}

// sees waits until a pipeline knows what runs in environments.
func (s *scene) sees(line *pipelines.Pipeline, environments ...string) {
	s.Helper()
	testkit.Eventually(s.T, s.APIServer, line, func(p *pipelines.Pipeline) error {
		for _, name := range environments {
			targets := p.Status.Environments[name].Targets
			if len(targets) != 1 || targets[0].Error != "" || targets[0].Revision != "1.0.0" {
				shown, _ := json.Marshal(targets)
				return fmt.Errorf("environment %s shows %s", name, shown)
			}
		}
		return nil
	})
}

// promotedInstallations promotes applications that the controllers of installations process.
func (s *scene) promotedInstallations() {
	s.promoteInstallations(s.GrantedNamespace(s.T, s.Namespace), s.GrantedNamespace(s.T, s.Namespace))
}

func (s *scene) promoteInstallations(dev, prod string) {
	s.Helper()
	for namespace, version := range map[string]string{dev: "1.1.0", prod: "1.0.0"} {
		inst := testkit.Installation(namespace, "app").Blueprint(header+"imports: [{name: version, "+text+"}]\n").
			MapImport("version", version).Continuous().Build()
		inst.Spec.RevisionField = "importDataMappings.version"
		s.Create(inst)
	}
	line := testkit.Pipeline(s.Namespace, "p").App("landscaper.gardener.cloud/v1alpha1", "Installation", "app").
		Environment("dev", dev).Environment("prod", prod).Build()
	line.Spec.Promotion = &pipelines.Promotion{Strategy: pipelines.Strategy{Installation: &pipelines.InstallationStrategy{}}}
	s.Create(line)
	s.reaches("1.1.0", pipelines.PromotionComplete)
	changed := testkit.Installation(prod, "app").Build()
	if err := s.Client().Get(s.Context(), client.ObjectKeyFromObject(changed), changed); err != nil {
		s.Fatal(err)
	}
	if got := string(changed.Spec.ImportDataMappings["version"].Raw); got != `"1.1.0"` || changed.Status.Phase != lsv1alpha1.PhaseSucceeded {
		s.Errorf("prod has version %s and is in phase %s", got, changed.Status.Phase)
	}
}
