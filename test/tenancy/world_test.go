// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package tenancy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/config/rbac"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/tenancy"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/managed"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// tenant is a namespace in which the controllers work in strict tenancy. The controllers themselves have all rights.
type tenant struct{ *managed.World }

func strictly(o *manager.Options) { o.Tenancy = manager.StrictTenancy }

// newTenant returns a namespace whose service accounts have no rights yet.
func newTenant(t *testing.T) *tenant {
	t.Helper()
	w := &tenant{managed.NewWorld(t, strictly, managed.SystemNamespace)}
	w.Manage()
	return w
}

// roles returns our roles, by name.
func roles(t testing.TB) map[string][]rbacv1.PolicyRule {
	t.Helper()
	all, err := rbac.All()
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string][]rbacv1.PolicyRule{}
	for _, role := range all {
		rules[role.Name] = role.Rules
	}
	return rules
}

// grant grants a service account of the namespace rights in it.
func (w *tenant) grant(account, name string, rules []rbacv1.PolicyRule) {
	w.Helper()
	w.Create(
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}, Rules: rules},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.Namespace, Name: account}},
		},
	)
}

// admit grants a service account the rights of every tenant.
func (w *tenant) admit(account string) {
	w.Helper()
	w.grant(account, "tenant-"+account, roles(w)[tenancy.RoleTenant])
}

// without removes a verb on a resource from rules.
func without(rules []rbacv1.PolicyRule, resource string, verbs ...string) []rbacv1.PolicyRule {
	var left []rbacv1.PolicyRule
	for _, rule := range rules {
		rule = *rule.DeepCopy()
		if slices.Contains(rule.Resources, resource) {
			rule.Verbs = slices.DeleteFunc(rule.Verbs, func(verb string) bool { return slices.Contains(verbs, verb) })
		}
		left = append(left, rule)
	}
	return left
}

func configMaps(verbs ...string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs}}
}

func (w *tenant) installation(name string) *lsv1alpha1.Installation {
	return &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
}

func (w *tenant) secret(name, key, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}, Data: map[string][]byte{key: []byte(value)}}
}

// self returns a Target for the cluster itself, as a service account of the namespace.
func (w *tenant) self(name, account string) *lsv1alpha1.Target {
	return testkit.Target(w.Namespace, name).
		Config(map[string]any{"selfConfig": map[string]any{"serviceAccount": map[string]any{"name": account}}}).Build()
}

// applying returns a deploy item that applies a manifest to the cluster of a Target. Its job has started.
func (w *tenant) applying(name, target, manifest string) *lsv1alpha1.DeployItem {
	w.Helper()
	item := testkit.DeployItem(w.Namespace, name).Target(target).Config(lsv1alpha1.DeployItemTypeManifest, map[string]any{
		"apiVersion": "manifest.deployer.landscaper.gardener.cloud/v1alpha2", "kind": "ProviderConfiguration",
		"manifests": []any{map[string]any{"manifest": parse(w, manifest)}},
	}).Build()
	w.Create(item)
	w.SetStatus(item, map[string]any{"jobID": "first"})
	return item
}

// succeeds waits until an object has finished its job successfully.
func succeeds[T client.Object](w *tenant, object T) T {
	w.Helper()
	return testkit.EventuallyFinished(w.T, w.APIServer, object, lsv1alpha1.PhaseSucceeded, testkit.Within(limit))
}

// limit is only for broken tests: after a denial, retries have backoff.
const limit = 10 * time.Minute

// complains waits until the last error of an object contains all words.
func complains(w *tenant, object client.Object, words ...string) string {
	w.Helper()
	found := ""
	says := func(e *lsv1alpha1.Error) error {
		if e == nil {
			return fmt.Errorf("there is no error")
		}
		found = e.Message
		for _, word := range words {
			if !strings.Contains(found, word) {
				return fmt.Errorf("the error does not say %q: %s", word, found)
			}
		}
		return nil
	}
	switch o := object.(type) {
	case *lsv1alpha1.Installation:
		testkit.Eventually(w.T, w.APIServer, o, func(i *lsv1alpha1.Installation) error { return says(i.Status.LastError) }, testkit.Within(limit))
	case *lsv1alpha1.DeployItem:
		testkit.Eventually(w.T, w.APIServer, o, func(i *lsv1alpha1.DeployItem) error { return says(i.Status.LastError) }, testkit.Within(limit))
	default:
		w.Fatalf("%T has no error", object)
	}
	return found
}
