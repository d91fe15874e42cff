// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// runContexts runs the controller until the test ends.
func runContexts(t *testing.T, opts ContextsOptions) {
	t.Helper()
	mgr := testkit.NewManager(t, testkit.Server(t).Config(), "")
	if err := SetupContexts(mgr, opts); err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, mgr.Start)
}

func defaultContext(namespace string) *landscaper.Context {
	return &landscaper.Context{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: landscaper.DefaultContextName}}
}

var exists = testkit.Is("there", func(*landscaper.Context) bool { return true })

func TestEveryNamespaceGetsADefaultContext(t *testing.T) {
	api := testkit.Server(t)
	older := api.Namespace(t)
	excluded := api.Namespace(t)
	runContexts(t, ContextsOptions{ExcludedNamespaces: []string{excluded}, Workers: 2})
	testkit.Eventually(t, api, defaultContext(older), exists)
	newer := api.Namespace(t)
	first := testkit.Eventually(t, api, defaultContext(newer), exists)

	if err := api.Client().Delete(t.Context(), defaultContext(newer)); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, api, defaultContext(newer), testkit.Is("a new one", func(c *landscaper.Context) bool { return c.UID != first.UID }))

	// The workers have handled namespaces created later, so this one was processed.
	assertNoContext(t, api, excluded)
}

func assertNoContext(t *testing.T, api *testkit.APIServer, namespace string) {
	t.Helper()
	object := defaultContext(namespace)
	if err := api.Client().Get(t.Context(), client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
		t.Errorf("namespace %s has a default Context: %v", namespace, err)
	}
}

func TestAChangedContextIsLeftAlone(t *testing.T) {
	api := testkit.Server(t)
	namespace := api.Namespace(t)
	own := defaultContext(namespace)
	own.ComponentVersionOverwritesReference = "mine"
	if err := api.Client().Create(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	runContexts(t, ContextsOptions{Workers: 1})
	testkit.Eventually(t, api, defaultContext(api.Namespace(t)), exists)
	got := defaultContext(namespace)
	if err := api.Client().Get(t.Context(), client.ObjectKeyFromObject(got), got); err != nil {
		t.Fatal(err)
	}
	if got.ResourceVersion != own.ResourceVersion {
		t.Errorf("it was changed: %+v", got)
	}
}

// reconciler returns a reconciler without a cache, so that each case sees exactly what it has set up.
func reconciler(t *testing.T) *contexts {
	t.Helper()
	return &contexts{client: testkit.Server(t).Client()}
}

func TestNamespacesThatGoAwayGetNone(t *testing.T) {
	api := testkit.Server(t)
	terminating := api.Namespace(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: terminating}}
	if err := api.Client().Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	// No controller on this server empties namespaces, so the namespace stays in this state.
	for _, name := range []string{terminating, "never-there"} {
		request := reconcile.Request{NamespacedName: client.ObjectKey{Name: name}}
		if _, err := reconciler(t).Reconcile(t.Context(), request); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		assertNoContext(t, api, name)
	}
}

// The cache holds no Contexts of unlisted namespaces, so the controller must skip those without a read.
func TestOnlyNamedNamespacesGetADefaultContext(t *testing.T) {
	api := testkit.Server(t)
	named, other := api.Namespace(t), api.Namespace(t)
	r := &contexts{client: api.Client(), only: []string{named}}
	for _, name := range []string{other, named} {
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: name}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	assertNoContext(t, api, other)
	testkit.Eventually(t, api, defaultContext(named), exists)
}

// These are the errors that a stale cache leads to: the API server rejects the Create.
func TestRefusalsThatSettleTheMatter(t *testing.T) {
	api := testkit.Server(t)
	terminating := api.Namespace(t)
	if err := api.Client().Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: terminating}}); err != nil {
		t.Fatal(err)
	}
	occupied := api.Namespace(t)
	if err := api.Client().Create(t.Context(), defaultContext(occupied)); err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{terminating, occupied, "never-there"} {
		err := api.Client().Create(t.Context(), defaultContext(namespace))
		if err == nil {
			t.Fatalf("%s: the server has accepted it", namespace)
		}
		if unlessSettled(err) != nil {
			t.Errorf("%s: not settled by: %v", namespace, err)
		}
	}
}

func TestRefusalsThatDoNot(t *testing.T) {
	config := testkit.Server(t).Config()
	config.Impersonate.UserName = "nobody"
	nobody, err := client.New(config, client.Options{Scheme: testkit.Server(t).Client().Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	err = nobody.Create(t.Context(), defaultContext(testkit.Server(t).Namespace(t)))
	if !apierrors.IsForbidden(err) {
		t.Fatalf("without rights: %v", err)
	}
	if unlessSettled(err) == nil {
		t.Errorf("settled by: %v", err)
	}
}
