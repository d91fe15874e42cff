// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	espalier "espalier.dev/api/espalier/v1alpha1"
	gitops "espalier.dev/api/gitops/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
)

// spy sees every request of the controller, and can hide changes of grants from it.
type spy struct {
	next http.RoundTripper

	mutex sync.Mutex
	paths []string
	deaf  bool
	// refuse rejects requests whose path ends with it, as an API server does if they are forbidden; empty rejects none.
	refuse string
}

// RoundTrip passes a request on.
func (s *spy) RoundTrip(request *http.Request) (*http.Response, error) {
	grants := strings.Contains(request.URL.Path, "/referencegrants")
	s.mutex.Lock()
	if !grants {
		s.paths = append(s.paths, request.Method+" "+request.URL.Path+"?"+request.URL.RawQuery)
	}
	refuse := s.refuse
	s.mutex.Unlock()
	if refuse != "" && strings.HasSuffix(request.URL.Path, refuse) {
		text := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"not you"}`
		return &http.Response{
			StatusCode: http.StatusForbidden, Status: "403 Forbidden", ProtoMajor: 1, ProtoMinor: 1, Request: request,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text)),
		}, nil
	}
	response, err := s.next.RoundTrip(request)
	if err == nil && grants && request.URL.Query().Get("watch") == "true" {
		response.Body = &muffled{ReadCloser: response.Body, spy: s, ctx: request.Context()}
	}
	return response, err
}

// about returns the requests that mention a text.
func (s *spy) about(text string) []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.DeleteFunc(slices.Clone(s.paths), func(path string) bool { return !strings.Contains(path, text) })
}

// deny rejects requests whose path ends with this from now on.
func (s *spy) deny(path string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.refuse = path
}

func (s *spy) turnDeaf() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.deaf = true
}

// muffled is a watch that delivers nothing once the spy is deaf.
type muffled struct {
	io.ReadCloser
	spy *spy
	ctx context.Context
}

// Read returns what the watch delivers.
func (m *muffled) Read(into []byte) (int, error) {
	n, err := m.ReadCloser.Read(into)
	m.spy.mutex.Lock()
	deaf := m.spy.deaf
	m.spy.mutex.Unlock()
	if !deaf {
		return n, err
	}
	<-m.ctx.Done()
	return 0, m.ctx.Err()
}

// watchedWorld runs the controller with a spy.
func watchedWorld(t *testing.T) (*world, *spy) {
	t.Helper()
	w, s := idleWorld(t), &spy{}
	w.runSpied(s)
	return w, s
}

func (w *world) runSpied(s *spy) {
	w.Helper()
	config := w.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		s.next = next
		return s
	})
	w.ManageOver(config)
}

// attacker has all rights on pipelines and installations in the world's namespace, and none anywhere else.
func (w *world) attacker() client.Client {
	w.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "attacker"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{pipelines.GroupName, lsv1alpha1.GroupName}, Resources: []string{"*"}, Verbs: []string{"*"}},
	}}
	w.Create(role, &rbacv1.RoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "attacker"}},
	})
	config := w.Config()
	config.Impersonate.UserName = "attacker"
	c, err := client.New(config, client.Options{Scheme: w.Client().Scheme()})
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// installations is a pipeline of the world's namespace that sets the version of the Installation app on a target.
func (w *world) installations(target pipelines.Target) *pipelines.Pipeline {
	p := testkit.Pipeline(w.Namespace, "p").
		App("landscaper.gardener.cloud/v1alpha1", "Installation", "app").
		Environment("dev", w.Namespace).
		Environment("prod", "").
		Build()
	p.Spec.Environments[1].Targets = []pipelines.Target{target}
	p.Spec.Promotion = &pipelines.Promotion{Strategy: pipelines.Strategy{Installation: &pipelines.InstallationStrategy{}}}
	return p
}

func (w *world) version(namespace string) string {
	w.Helper()
	var inst lsv1alpha1.Installation
	if err := w.Client().Get(w.Context(), types.NamespacedName{Namespace: namespace, Name: "app"}, &inst); err != nil {
		w.Fatal(err)
	}
	return inst.Spec.ComponentDescriptor.Reference.Version
}

func refused(p *pipelines.Pipeline) bool {
	ready := meta.FindStatusCondition(p.Status.Conditions, pipelines.ConditionReady)
	return held(p, "prod", pipelines.HoldReferenceNotPermitted) && ready != nil && ready.Status == metav1.ConditionFalse &&
		ready.Reason == pipelines.ReasonReferenceNotPermitted
}

// Without the check, a user without any right in a namespace sets the version of an installation there, and starts its job.
func TestPIP08_APipelineCannotChangeAnInstallationElsewhere(t *testing.T) {
	t.Parallel()
	w, spy := watchedWorld(t)
	victim := w.APIServer.Namespace(t)
	w.Create(installed(w.Namespace, "6.6.6"), installed(victim, "1.0.0"))
	w.finish(w.Namespace, "first")
	w.finish(victim, "first")
	attacker := w.attacker()
	if err := attacker.Get(t.Context(), types.NamespacedName{Namespace: victim, Name: "app"}, &lsv1alpha1.Installation{}); !apierrors.IsForbidden(
		err,
	) {
		t.Fatalf("the attacker has rights: %v", err)
	}
	if err := attacker.Create(t.Context(), w.installations(pipelines.Target{Namespace: victim})); err != nil {
		t.Fatal(err)
	}
	p := w.until("p", "refused", refused)
	for _, text := range []string{p.Status.Environments["prod"].Targets[0].Error, w.untilEvent("p", "RefNotPermitted").Message} {
		for _, part := range []string{"ReferenceGrant", "namespace " + victim, "namespace " + w.Namespace, "Installation", "app"} {
			if !strings.Contains(text, part) {
				t.Errorf("%q does not name %s", text, part)
			}
		}
	}
	if got := w.version(victim); got != "1.0.0" {
		t.Fatalf("the version was set to %s", got)
	}
	if seen := spy.about(victim); len(seen) > 0 {
		t.Errorf("the other namespace was asked for: %v", seen)
	}
	// A grant takes effect at once, and so does its removal.
	grant := testkit.Grant(victim, w.Namespace)
	w.Create(grant)
	w.untilState("p", "prod", "6.6.6", pipelines.PromotionSucceeded)
	if got := w.version(victim); got != "6.6.6" {
		t.Errorf("the version is %s", got)
	}
	if err := w.Client().Delete(t.Context(), grant); err != nil {
		t.Fatal(err)
	}
	w.until("p", "refused again", refused)
}

// Without the check, objects on a cluster that is registered in another namespace are changed with the kubeconfig from there.
func TestPIP08_APipelineCannotUseAClusterOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	for kind, group := range map[pipelines.ClusterKind]string{
		pipelines.ClusterKindTarget: lsv1alpha1.GroupName, pipelines.ClusterKindGitopsCluster: gitops.GroupName,
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			useForeignCluster(t, espalier.ReferenceGrantTo{Group: group, Kind: string(kind), Name: "cluster"})
		})
	}
}

func useForeignCluster(t *testing.T, cluster espalier.ReferenceGrantTo) {
	w, spy := watchedWorld(t)
	victim := w.APIServer.Namespace(t)
	w.Create(installed(w.Namespace, "6.6.6"), installed(victim, "1.0.0"))
	w.finish(w.Namespace, "first")
	w.finish(victim, "first")
	w.registerCluster(victim, cluster)
	through := pipelines.Target{
		Namespace:  victim,
		ClusterRef: &pipelines.ClusterReference{Kind: pipelines.ClusterKind(cluster.Kind), Namespace: victim, Name: cluster.Name},
	}
	if err := w.attacker().Create(t.Context(), w.installations(through)); err != nil {
		t.Fatal(err)
	}
	w.until("p", "refused", refused)
	// A grant for applications does not cover clusters, nor does one for another cluster.
	grant := testkit.Grant(victim, w.Namespace)
	another := cluster
	another.Name = "another"
	w.Create(grant)
	w.Create(&espalier.ReferenceGrant{
		ObjectMeta: metav1.ObjectMeta{Namespace: victim, Name: "another-cluster"},
		Spec:       espalier.ReferenceGrantSpec{From: grant.Spec.From, To: []espalier.ReferenceGrantTo{another}},
	})
	other := w.installations(through)
	other.Name = "later" // processed after the grants
	w.Create(other)
	w.until("later", "refused", refused)
	if got := w.version(victim); got != "1.0.0" {
		t.Fatalf("the version was set to %s", got)
	}
	if seen := spy.about(victim); len(seen) > 0 {
		t.Errorf("the other namespace was asked for: %v", seen)
	}
	w.Create(&espalier.ReferenceGrant{
		ObjectMeta: metav1.ObjectMeta{Namespace: victim, Name: "cluster"},
		Spec:       espalier.ReferenceGrantSpec{From: grant.Spec.From, To: []espalier.ReferenceGrantTo{cluster}},
	})
	w.untilState("p", "prod", "6.6.6", pipelines.PromotionSucceeded)
}

// registerCluster registers the API server of the test as a cluster in a namespace.
func (w *world) registerCluster(namespace string, as espalier.ReferenceGrantTo) {
	w.Helper()
	named := metav1.ObjectMeta{Namespace: namespace, Name: as.Name}
	w.Create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kubeconfig"},
		Data:       map[string][]byte{"kubeconfig": kubeconfigOf(w.T, w.APIServer)},
	})
	if as.Kind == string(pipelines.ClusterKindTarget) {
		w.Create(&lsv1alpha1.Target{ObjectMeta: named, Spec: lsv1alpha1.TargetSpec{
			Type:      lsv1alpha1.TargetTypeKubernetesCluster,
			SecretRef: &lsv1alpha1.LocalSecretReference{Name: "kubeconfig", Key: "kubeconfig"},
		}})
		return
	}
	cluster := &gitops.GitopsCluster{
		ObjectMeta: named, Spec: gitops.GitopsClusterSpec{SecretRef: &gitops.LocalObjectReference{Name: "kubeconfig"}},
	}
	w.Create(cluster)
	w.becomesReady(cluster)
}

// Without the check, an appRef of kind Secret reveals whether a Secret of that name exists, and makes the controller watch Secrets.
func TestPIP08_APipelineCannotTellWhetherAnObjectExists(t *testing.T) {
	t.Parallel()
	w, spy := watchedWorld(t)
	victim := w.APIServer.Namespace(t)
	w.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: victim, Name: "there"}})
	w.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "there"}})
	w.deploy(w.Client(), victim, "1.0.0", true) // the HelmRelease app
	attacker := w.attacker()
	said := func(name string, builder *testkit.PipelineBuilder) string {
		p := builder.Notification().Build()
		if err := attacker.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		p = w.until(name, "not ready", func(p *pipelines.Pipeline) bool {
			return meta.IsStatusConditionFalse(p.Status.Conditions, pipelines.ConditionReady)
		})
		text := p.Status.Conditions[0].Reason + " " + p.Status.Environments["dev"].Targets[0].Error
		return strings.NewReplacer("app", "NAME", "none", "NAME", "there", "NAME", "nowhere", victim).Replace(text)
	}
	secret := func(name, namespace, secret string) string {
		return said(name, testkit.Pipeline(w.Namespace, name).App("v1", "Secret", secret).Environment("dev", namespace))
	}
	exists, missing := secret("a", victim, "there"), secret("b", victim, "none")
	if exists != missing || !strings.HasPrefix(exists, pipelines.ReasonKindNotPermitted) || !strings.Contains(exists, "Secret") {
		t.Errorf("of a Secret that exists it says %q, of another one %q", exists, missing)
	}
	if own := secret("c", w.Namespace, "there"); own != exists {
		t.Errorf("of an own Secret it says %q", own)
	}
	release := func(name, namespace, app string) string {
		return said(name, testkit.Pipeline(w.Namespace, name).App("helm.toolkit.fluxcd.io/v2", "HelmRelease", app).Environment("dev", namespace))
	}
	exists, missing = release("d", victim, "app"), release("e", victim, "none")
	if exists != missing || !strings.HasPrefix(exists, pipelines.ReasonReferenceNotPermitted) {
		t.Errorf("of a HelmRelease that exists it says %q, of another one %q", exists, missing)
	}
	if nowhere := release("f", "nowhere", "app"); nowhere != exists {
		t.Errorf("of a namespace that does not exist it says %q", nowhere)
	}
	if seen := append(spy.about("/secrets"), spy.about(victim)...); len(seen) > 0 {
		t.Errorf("it was asked for: %v", seen)
	}
	if seen := spy.about("nowhere"); len(seen) > 0 {
		t.Errorf("it was asked for: %v", seen)
	}
}

// Even if the watch of grants is late, a write is rejected as soon as the grant is gone.
func TestPIP08_AGrantThatWasTakenBackPermitsNoWriteHoweverLateTheWatch(t *testing.T) {
	t.Parallel()
	w, spy := watchedWorld(t)
	other := w.GrantedNamespace(t, w.Namespace)
	w.Create(installed(w.Namespace, "1.0.0"), installed(other, "1.0.0"))
	w.finish(w.Namespace, "first")
	w.finish(other, "first")
	w.Create(w.installations(pipelines.Target{Namespace: other}))
	w.until("p", "complete", func(p *pipelines.Pipeline) bool { return p.Status.Run != nil && p.Status.Run.CompletionTime != nil })
	spy.turnDeaf()
	if err := w.Client().Delete(t.Context(), testkit.Grant(other, w.Namespace)); err != nil {
		t.Fatal(err)
	}
	var first lsv1alpha1.Installation
	if err := w.Client().Get(t.Context(), types.NamespacedName{Namespace: w.Namespace, Name: "app"}, &first); err != nil {
		t.Fatal(err)
	}
	first.Spec.ComponentDescriptor.Reference.Version = "2.0.0"
	if err := w.Client().Update(t.Context(), &first); err != nil {
		t.Fatal(err)
	}
	w.finish(w.Namespace, "second")
	p := w.untilState("p", "prod", "2.0.0", pipelines.PromotionFailed)
	if problem := p.Status.Environments["prod"].Promotion.Error; problem == nil || problem.Reason != pipelines.ReasonReferenceNotPermitted {
		t.Errorf("it failed by %+v", problem)
	}
	if got := w.version(other); got != "1.0.0" {
		t.Errorf("the version was set to %s", got)
	}
}

// Without the right to watch grants, targets that need no grant continue, and those that need one report what is missing.
func TestPIP08_WithoutKnowingTheGrantsNothingForeignIsRead(t *testing.T) {
	t.Parallel()
	w, spy := idleWorld(t), &spy{refuse: "/referencegrants"}
	other := w.GrantedNamespace(t, w.Namespace)
	w.deploy(w.Client(), w.Namespace, "1.0.0", true)
	w.deploy(w.Client(), other, "1.0.0", true)
	w.runSpied(spy)
	app := func(name string) *testkit.PipelineBuilder {
		return testkit.Pipeline(w.Namespace, name).
			App("helm.toolkit.fluxcd.io/v2", "HelmRelease", "app").
			Environment("dev", w.Namespace).
			Notification()
	}
	w.Create(app("local").Build(), app("foreign").Environment("prod", other).Build())
	w.until("local", "complete", func(p *pipelines.Pipeline) bool { return p.Status.Run != nil && p.Status.Run.CompletionTime != nil })
	p := w.until("foreign", "held", func(p *pipelines.Pipeline) bool { return held(p, "prod", pipelines.HoldTargetNotReadable) })
	if text := p.Status.Environments["prod"].Targets[0].Error; !strings.Contains(text, "referencegrants.espalier.dev") {
		t.Errorf("it says %q", text)
	}
	if seen := spy.about(other); len(seen) > 0 {
		t.Errorf("the other namespace was asked for: %v", seen)
	}
}
