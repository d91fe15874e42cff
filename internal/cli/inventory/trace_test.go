// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/inventory"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

// traced is what a program reads of a trace.
type traced struct {
	Object        struct{ Kind, Name, UID string }
	Target, JobID string
	Owners        []struct{ Kind, Name string }
	Chain         []struct{ Kind, Name, As, Type, Target, TargetName, Component, Version, Blueprint string }
	Origins       []struct {
		Environment, Revision string
		First                 bool
		Promotion             *pipelines.PromotionStatus
	}
}

func (w *world) trace(args ...string) traced {
	w.Helper()
	got := w.run(inventory.NewTrace, append(args, "-o", "json")...)
	var found traced
	if err := json.Unmarshal([]byte(got.Stdout), &found); err != nil || got.Code != cli.ExitOK || got.Stderr != "" {
		w.Fatalf("trace %q: %v: %+v", args, err, got)
	}
	if strings.Contains(got.Stdout, hidden) {
		w.Errorf("trace %q shows a value: %s", args, got.Stdout)
	}
	return found
}

// leadsTo checks the way from an object to the root: the names of objects in between, then those that trees give to the links.
func (w *world) leadsTo(found traced, owners, links []string) {
	w.Helper()
	var way, chain []string
	for _, o := range found.Owners {
		way = append(way, o.Kind+"/"+o.Name)
	}
	for _, l := range found.Chain {
		chain = append(chain, strings.TrimSuffix(l.Kind+"/"+l.As, "/"))
	}
	if diff := cmp.Diff(owners, way); diff != "" {
		w.Errorf("the owners of %s/%s: %s", found.Object.Kind, found.Object.Name, diff)
	}
	if diff := cmp.Diff(links, chain); diff != "" {
		w.Errorf("the chain of %s/%s: %s", found.Object.Kind, found.Object.Name, diff)
	}
	if root := found.Chain[len(found.Chain)-1]; root.Name != "shop" {
		w.Errorf("the root of %s/%s is %s", found.Object.Kind, found.Object.Name, root.Name)
	}
}

// pods creates what the controllers of Kubernetes make of a Deployment. They copy its annotations, marks included.
func (w *world) pods() {
	w.Helper()
	site := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "site"}}
	w.Read(site)
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.Namespace, Name: "site-1", Labels: site.Spec.Template.Labels, Annotations: site.Annotations,
	}, Spec: appsv1.ReplicaSetSpec{Selector: site.Spec.Selector, Template: site.Spec.Template}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "site-1-a", Labels: set.Labels}, Spec: site.Spec.Template.Spec}
	for _, pair := range [][2]client.Object{{site, set}, {set, pod}} {
		if err := controllerutil.SetControllerReference(pair[0], pair[1], w.Client().Scheme()); err != nil {
			w.Fatal(err)
		}
		w.Create(pair[1])
	}
}

// Every way from an object to its installation, with real deployers on the other side.
func TestTraceOfRealDeployers(t *testing.T) {
	w := newWorld(t)
	w.deploy()
	w.pods()
	objects := []string{"DeployItem/objects", "Execution", "Installation/web", "Installation"}
	chart := append([]string{"DeployItem/chart"}, objects[1:]...)
	for _, args := range [][]string{
		{"configmap/settings"}, {"cm", "settings"}, {"ConfigMap/settings"}, {"secrets/credentials"}, {"secret", "credentials", "--target=cluster"},
		{"configmaps.v1./settings", "--target", w.Namespace + "/cluster"},
	} {
		found := w.trace(args...)
		w.leadsTo(found, nil, objects)
		if found.JobID != w.shop.Status.JobID || found.Chain[0].Type != string(lsv1alpha1.DeployItemTypeManifest) || found.Object.UID == "" {
			t.Errorf("%q: %+v", args, found)
		}
		if item := found.Chain[0]; item.TargetName != "cluster" || item.Target == "cluster" {
			t.Errorf("%q: the Target is %s, called %s", args, item.Target, item.TargetName)
		}
		if throughTarget := strings.Contains(strings.Join(args, " "), "--target"); (found.Target == "<namespace>/cluster") != throughTarget {
			t.Errorf("%q is found through Target %q", args, found.Target)
		}
	}
	w.leadsTo(w.trace("configmap/page"), nil, chart)
	w.leadsTo(w.trace("secret/sh.helm.release.v1.site.v1"), nil, chart)
	w.leadsTo(w.trace("deploy/site"), nil, chart)
	w.leadsTo(w.trace("pod/site-1-a"), []string{"ReplicaSet/site-1", "Deployment/site"}, chart)
	w.leadsTo(w.trace("pod/site-1-a", "--target=cluster"), []string{"ReplicaSet/site-1", "Deployment/site"}, chart)
	w.leadsTo(w.trace("deployitem/"+w.trace("cm/settings").Chain[0].Name), nil, objects)
	w.leadsTo(w.trace("installation/inner"), nil, append([]string{"Installation"}, objects...))
	for format, want := range map[string]string{
		"name": "installation.landscaper.gardener.cloud/shop\n",
		"tree": "Installation/shop: Succeeded\n└─ Installation/" + w.nested.Name + ": Succeeded\n   └─ Execution/",
		"dot":  `digraph "Origin of Pod/site-1-a" {`,
		"svg":  "<title id=\"title\">Origin of Pod/site-1-a</title>",
	} {
		if got := w.run(inventory.NewTrace, "pod/site-1-a", "-o", format); got.Code != cli.ExitOK || !strings.Contains(got.Stdout, want) {
			t.Errorf("-o %s: %+v", format, got)
		}
	}
	w.withoutMarks()
	w.copies()
}

// withoutMarks traces an object by its UID, also for a user who may see one namespace only.
func (w *world) withoutMarks() {
	w.Helper()
	settings := w.settings()
	mark := settings.Annotations["manifest.deployer.landscaper.gardener.cloud/owner"]
	if mark == "" {
		w.Fatalf("the deployer left no mark: %v", settings.Annotations)
	}
	w.Patch(settings.ConfigMap, `{"metadata":{"annotations":null,"labels":null}}`)
	objects := []string{"DeployItem/objects", "Execution", "Installation/web", "Installation"}
	w.leadsTo(w.trace("cm/settings"), nil, objects)

	user := testkit.AccountUser(w.Namespace, "reader")
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}},
		{APIGroups: []string{lsv1alpha1.GroupName, pipelines.GroupName}, Resources: []string{"*"}, Verbs: []string{"list"}},
	}
	w.Create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "reader"}, Rules: rules},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "reader"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.Namespace, Name: "reader"}},
		})
	w.leadsTo(w.trace("cm/settings", "--as", user), nil, objects)
	refused := w.run(inventory.NewTrace, "secret/credentials", "--as", user)
	if refused.Code != cli.ExitNotFound || !strings.Contains(refused.Stderr, "cannot read Secret/credentials") {
		w.Errorf("an object that the user may not read: %+v", refused)
	}
}

// copies looks at objects that nothing manages, whatever they say of themselves.
func (w *world) copies() {
	w.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "credentials"}}
	w.Read(secret)
	of := func(name, annotation, value string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: name, Annotations: map[string]string{annotation: value},
		}}
	}
	const owner = "manifest.deployer.landscaper.gardener.cloud/owner"
	w.Create(
		of("copy", owner, secret.Annotations[owner]), of("orphan", owner, w.Namespace+"/gone"), of("stray", "a", "b"), of("odd", owner, "x"),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: "sh.helm.release.v1.other.v1", Labels: map[string]string{"owner": "helm", "name": "other", "version": "1"},
		}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "flux", Labels: map[string]string{
			"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
		}}},
		testkit.Target(w.Namespace, "dead").Kubeconfig(deadCluster).Build(),
	)
	for args, want := range map[string]struct {
		code int
		text string
	}{
		"cm/copy":                              {cli.ExitNotFound, "no installation manages ConfigMap/copy: ConfigMap/copy is marked as an object of deploy item <namespace>/"},
		"cm/orphan":                            {cli.ExitNotFound, "deploy item <namespace>/gone, which does not exist in this cluster"},
		"cm/stray":                             {cli.ExitNotFound, "no installation manages ConfigMap/stray\n"},
		"cm/odd":                               {cli.ExitNotFound, "no installation manages ConfigMap/odd\n"},
		"cm/stray --target=cluster":            {cli.ExitNotFound, "where: namespace <namespace> in the cluster of Target <namespace>/cluster"},
		"secret/sh.helm.release.v1.other.v1":   {cli.ExitNotFound, "Helm release <namespace>/other, which no deploy item has recorded"},
		"cm/flux":                              {cli.ExitNotFound, "Flux has applied it for Kustomization flux-system/apps, which no pipeline promotes"},
		"cm/missing":                           {cli.ExitNotFound, "ConfigMap/missing does not exist"},
		"cm/missing --target=cluster":          {cli.ExitNotFound, "ConfigMap/missing does not exist"},
		"gadget/missing":                       {cli.ExitNotFound, `the cluster knows no kind "gadget"`},
		"missing":                              {cli.ExitError, `"missing" does not name an object`},
		"cm/settings --target=lost":            {cli.ExitNotFound, "cannot reach the cluster of Target <namespace>/lost: it does not exist"},
		"cm/settings --target=/":               {cli.ExitError, `--target "/" does not name a Target`},
		"cm/settings --target=dead":            {cli.ExitError, "cannot ask the cluster for its kinds"},
		"cm/settings --as=" + "somebody-else":  {cli.ExitNotFound, "cannot read ConfigMap/settings"},
		"cm/settings -o table":                 {cli.ExitError, `unknown output format "table"`},
		"cm/settings --target=cluster -o wide": {cli.ExitError, `unknown output format "wide"`},
	} {
		got := w.run(inventory.NewTrace, strings.Fields(args)...)
		if got.Code != want.code || !strings.Contains(got.Stderr, want.text) || got.Stdout != "" || strings.Contains(got.Stderr, hidden) {
			w.Errorf("trace %s: %+v", args, got)
		}
	}
}

// deadCluster is where nobody answers.
const deadCluster = `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: ` + hidden + `}}]
`

// What is suggested about a Target reaches its namespace, also if the user works in another one.
func TestTraceThroughATargetOfAnotherNamespace(t *testing.T) {
	w := newWorld(t)
	w.Create(testkit.Target(w.Namespace, "dead").Kubeconfig(deadCluster).Build())
	for name, want := range map[string]string{"dead": "next:  espalier check -n ", "lost": "next:  espalier get -n "} {
		got := clitest.RunAlone(t, clitest.Call{Command: inventory.NewTrace, Args: []string{
			"cm/settings", "--kubeconfig", w.Kubeconfig(), "--target", w.Namespace + "/" + name,
		}})
		if !strings.Contains(got.Stderr, want+w.Namespace+" ") {
			t.Errorf("Target %s: it does not say %q: %+v", name, want, got)
		}
	}
}

// The version of an installation comes from the promotion that has set it.
func TestTraceToAPromotion(t *testing.T) {
	w := newWorld(t)
	shop := testkit.Installation(w.Namespace, "shop").Component("example.org/shop", "1.2.0").BlueprintRef("web").
		Label("kustomize.toolkit.fluxcd.io/name", "apps").Label("kustomize.toolkit.fluxcd.io/namespace", w.Namespace).Build()
	shop.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded)
	execution := clitest.ExecutionOf(shop, "page")
	execution.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded)
	item := clitest.ItemOf(execution, "page")
	item.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded)
	line := w.line("shop", "Installation", lsv1alpha1.SchemeGroupVersion.String())
	apps := w.line("apps", "Kustomization", "kustomize.toolkit.fluxcd.io/v1")
	clitest.Store(t, w.APIServer, shop, execution, item, line, apps)
	w.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "flux", Labels: shop.Labels}})

	got := w.run(inventory.NewTrace, "di/shop-page")
	if got.Code != cli.ExitOK || got.Stderr != "" {
		t.Errorf("exit code %d, stderr %q", got.Code, got.Stderr)
	}
	testkit.Golden(t, "promotion", got.Stdout)
	flux := w.run(inventory.NewTrace, "cm/flux")
	if flux.Code != cli.ExitOK || flux.Stderr != "" {
		t.Errorf("exit code %d, stderr %q", flux.Code, flux.Stderr)
	}
	testkit.Golden(t, "flux", flux.Stdout)

	found := w.trace("deployitem/shop-page")
	if len(found.Origins) != 2 || found.Origins[0].Revision != "1.2.0" && found.Origins[1].Revision != "1.2.0" {
		t.Fatalf("origins: %+v", found.Origins)
	}
	for _, o := range found.Origins {
		if o.Promotion == nil || o.Promotion.PullRequest.URL != "https://git.example.com/shop/pulls/7" || o.Environment != "production" ||
			o.First {
			t.Errorf("the promotion: %+v", o)
		}
	}
	w.containers(item)
	if root := found.Chain[2]; root.Component != "example.org/shop" || root.Version != "1.2.0" || root.Blueprint != "web" {
		t.Errorf("the root is %+v", root)
	}
}

// containers looks at what the container deployer makes in the cluster of the installations: for this deploy item, and for an earlier one.
func (w *world) containers(item *lsv1alpha1.DeployItem) {
	w.Helper()
	of := func(name string, uid types.UID) *corev1.Secret {
		const group = "deployitem.container.deployer.landscaper.gardener.cloud"
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: name, Labels: map[string]string{group + "/uid": string(uid)},
			Annotations: map[string]string{group + "/item": w.Namespace + "/" + item.Name},
		}}
	}
	w.Create(of("state", item.UID), of("earlier", "another"))
	w.leadsTo(w.trace("secret/state"), nil, []string{"DeployItem/page", "Execution", "Installation"})
	got := w.run(inventory.NewTrace, "secret/earlier")
	if got.Code != cli.ExitNotFound || !strings.Contains(got.Stderr, "an earlier deploy item <namespace>/shop-page, which was deleted") {
		w.Errorf("what an earlier deploy item has left: %+v", got)
	}
}

// line is a pipeline that has promoted revision 1.2.0 of an application to the world by a pull request. Another one waits.
func (w *world) line(name, kind, apiVersion string) *pipelines.Pipeline {
	w.Helper()
	line := testkit.Pipeline(w.Namespace, name).Notification().App(apiVersion, kind, name).
		Environment("dev", w.Namespace+"-dev").Environment("production", w.Namespace).Build()
	merged := clitest.PromotionOf(line, "production", pipelines.PromotionStatus{
		Revision: "1.2.0", Run: 3, State: pipelines.PromotionComplete, StartTime: clitest.Before(70), CompletionTime: new(clitest.Before(66)),
		Approval: &pipelines.Approval{Decision: pipelines.DecisionApproved, By: "jo", Time: clitest.Before(68)},
		PullRequest: &pipelines.PullRequestStatus{
			URL: "https://me:" + hidden + "@git.example.com/shop/pulls/7", Number: 7, State: pipelines.PullRequestMerged, ClosedBy: "kim",
		},
	})
	merged.Strategy = pipelines.StrategyPullRequest
	waiting := clitest.PromotionOf(line, "production", pipelines.PromotionStatus{
		Revision: "1.3.0", Run: 4, State: pipelines.PromotionUnapproved, StartTime: clitest.Before(19),
	})
	line.Status.ObservedGeneration = 1
	line.Status.Environments = map[string]pipelines.EnvironmentStatus{"production": {
		Targets: []pipelines.TargetStatus{{
			ClusterAppRef: pipelines.ClusterAppReference{AppReference: line.Spec.AppRef}, Namespace: w.Namespace, Ready: true, Revision: "1.2.0",
		}},
		Promotion: &waiting, History: []pipelines.PromotionStatus{merged},
	}}
	return line
}
