// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rights_test

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/rights"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/managed"
)

// everywhere are the rights that controllers need in addition to the roles in the namespaces that they process: see docs/install.md.
var everywhere = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"espalier.dev"}, Resources: []string{"referencegrants"}, Verbs: []string{"list", "watch"}},
}

// With --namespaces, all controllers run with roles that are bound only in these namespaces, and know of other namespaces only their names,
// and what these permit. What is elsewhere is left alone.
func TestRolesInNamedNamespacesAreEnough(t *testing.T) {
	e := newEstate(t, testkit.NewServer(t, testkit.ProjectCRDs()))
	jobs, continuous, syncs, line := e.scene(t), e.scene(t), e.scene(t), e.scene(t)
	dev, prod := line.GrantedNamespace(t, line.Namespace), line.GrantedNamespace(t, line.Namespace)
	e.named = []string{jobs.Namespace, continuous.Namespace, syncs.Namespace, line.Namespace, dev, prod}
	elsewhere := e.scene(t)
	elsewhere.Create(testkit.Installation(elsewhere.Namespace, "app").Blueprint(header).Reconcile().Build())
	before := failures(t)
	e.runNamed(t)
	t.Run("workload", func(t *testing.T) {
		for name, do := range map[string]func(*testing.T){
			"jobs":            func(t *testing.T) { e.sceneIn(t, jobs).jobs() },
			"continuous flow": func(t *testing.T) { e.sceneIn(t, continuous).continuous() },
			"target syncs":    func(t *testing.T) { e.sceneIn(t, syncs).targetSyncs() },
			"installations":   func(t *testing.T) { e.sceneIn(t, line).promoteInstallations(dev, prod) },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				do(t)
			})
		}
	})
	// The applications of a cluster are first listed in all namespaces, and if that is denied, in each namespace.
	tried := denial("pipelines", rights.Right{Verb: "list", Group: lsv1alpha1.GroupName, Resource: "installations"}, "")
	for _, complaint := range e.denied() {
		if complaint != tried {
			t.Error(complaint)
		}
	}
	app := elsewhere.installation("app")
	if !elsewhere.Read(app) || app.Status.Phase != "" || app.Annotations[lsv1alpha1.OperationAnnotation] == "" {
		t.Errorf("an installation in another namespace has become %+v with %v", app.Status, app.Annotations)
	}
	if after := failures(t); after != before {
		t.Errorf("the controller of Contexts has failed %g times: it bothers about namespaces that are not named", after-before)
	}
}

// sceneIn returns a scene in the namespace of another one, for a separate test.
func (e *estate) sceneIn(t *testing.T, other *scene) *scene {
	t.Helper()
	world := *other.World
	world.T = t
	return &scene{World: &world, estate: e}
}

// runNamed runs all controllers in the named namespaces.
func (e *estate) runNamed(t *testing.T) {
	t.Helper()
	var accounts []string
	for _, controller := range manager.Controllers() {
		accounts = append(accounts, controller.Name)
	}
	names := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "espalier-cluster"}, Rules: everywhere}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: names.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: names.Name},
	}
	for _, account := range accounts {
		binding.Subjects = append(binding.Subjects, e.subject(account))
	}
	testkit.Create(t, e.APIServer, names, binding)
	e.bind(t, e.system, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: rights.Prefix + "leader-election"}, accounts...)
	// The key for hashes is in the namespace of the controllers.
	e.bind(t, e.system, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: rights.Prefix + "installations"}, "installations")
	for _, name := range accounts {
		testkit.Run(t, managed.Manager(t, e.account(t, name), e.options(t, name)).Start)
	}
}

// failures returns how many passes of this process's controller of Contexts have ended with an error.
func failures(t *testing.T) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	failed := 0.0
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_errors_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "controller" && label.GetValue() == "contexts" {
					failed += metric.GetCounter().GetValue()
				}
			}
		}
	}
	return failed
}
