// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

func TestServerIsSharedAndServes(t *testing.T) {
	server := testkit.Server(t)
	if again := testkit.Server(t); again != server {
		t.Error("a second call started a second server")
	}
	written := configMap(server.Namespace(t), "a", map[string]string{"key": "value"})
	testkit.Create(t, server, written)
	var read corev1.ConfigMap
	if err := server.Client().Get(t.Context(), client.ObjectKeyFromObject(written), &read); err != nil {
		t.Fatal(err)
	}
	if read.Data["key"] != "value" || read.UID == "" {
		t.Errorf("read back %v with UID %q", read.Data, read.UID)
	}
}

func TestServerKnowsTheProjectsKinds(t *testing.T) {
	server := testkit.Server(t)
	object := &landscaper.DataObject{ObjectMeta: metav1.ObjectMeta{Namespace: server.Namespace(t), Name: "a"}}
	object.Data = landscaper.AnyJSON{Raw: []byte(`{"key":"value"}`)}
	testkit.Create(t, server, object)
	if err := server.Client().List(t.Context(), &landscaper.InstallationList{}); err != nil {
		t.Error(err)
	}
}

func TestNamespacesAreFreshAndNamedAfterTheTest(t *testing.T) {
	server := testkit.Server(t)
	t.Run("a rather long name with spaces, UPPER CASE letters and ümlauts in it", func(t *testing.T) {
		first, second := server.Namespace(t), server.Namespace(t)
		if first == second {
			t.Errorf("both are %s", first)
		}
		if !strings.HasPrefix(first, "testnamespacesarefreshandnamedafterthetest-") {
			t.Errorf("it is called %s", first)
		}
	})
}

// sapling returns a CRD that the server does not have yet.
func sapling(version string) *apiextensionsv1.CustomResourceDefinition {
	keep := true
	schema := &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
		Type:                   "object",
		XPreserveUnknownFields: &keep,
	}}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "saplings.testkit.example.org"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "testkit.example.org",
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "saplings", Singular: "sapling", Kind: "Sapling", ListKind: "SaplingList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				{Name: "v1", Served: true, Storage: true, Schema: schema},
				{Name: version, Served: true, Schema: schema},
			},
		},
	}
}

func TestInstalledKindsCanBeUsedAtOnce(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	for _, version := range []string{"v2", "v3"} { // the second is an update
		server.InstallCRD(t, sapling(version))
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "testkit.example.org/" + version, "kind": "Sapling"}}
		object.SetNamespace(namespace)
		object.SetName("a-" + version)
		testkit.Create(t, server, object)
		testkit.Eventually(t, server, object, testkit.Is("there", func(*unstructured.Unstructured) bool { return true }))
	}
}

func TestTestsMayHaveKindsOfTheirOwn(t *testing.T) {
	server := testkit.Server(t)
	var running sync.WaitGroup
	for range 8 { // as tests that run in parallel do
		running.Go(func() { server.InstallCRD(t, sapling("v2")) })
	}
	running.Wait()
	object := &Sapling{ObjectMeta: metav1.ObjectMeta{Namespace: server.Namespace(t), Name: "a"}, Height: 3}
	testkit.Create(t, server, object)
	testkit.Eventually(t, server, object, testkit.Is("high", func(s *Sapling) bool { return s.Height == 3 }))
}

func TestPrivateServersAreBareAndApart(t *testing.T) {
	shared, private := testkit.Server(t), testkit.NewServer(t)
	namespace := private.Namespace(t)
	testkit.Create(t, private, configMap(namespace, "a", nil))
	err := shared.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "a"}, &corev1.ConfigMap{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the shared server says %v about an object of the private one", err)
	}
	if err := private.Client().List(t.Context(), &landscaper.InstallationList{}); !meta.IsNoMatchError(err) {
		t.Errorf("the private server says %v about the project's kinds", err)
	}
	private.Stop(t)
	failed, text := outcome(t, func(s *spy) { private.Start(s) })
	if !failed || !strings.Contains(text, "testkit.Persistent()") {
		t.Errorf("a start without data: failed %v: %s", failed, text)
	}
}

// A restart keeps data, address and credentials: existing clients and recorders continue, and a wait survives it.
func TestPersistentServersCanBeRestarted(t *testing.T) {
	server := testkit.NewServer(t, testkit.Persistent(), testkit.ProjectCRDs())
	before := server.Client()
	namespace := server.Namespace(t)
	recorder := testkit.Record(t, server, namespace, configMaps)
	testkit.Create(t, server, configMap(namespace, "a", nil))
	restarts := map[string]func(){"stop": func() { server.Stop(t) }, "kill": server.Kill}
	for name, end := range restarts {
		recorder.History()
		end()
		if err := before.List(t.Context(), &corev1.NamespaceList{}); err == nil {
			t.Fatalf("after %s it still answers", name)
		}
		waited := make(chan struct{})
		go func() {
			defer close(waited)
			testkit.Eventually(t, server, configMap(namespace, name, nil), testkit.Is("there", func(*corev1.ConfigMap) bool { return true }))
		}()
		server.Start(t)
		if err := before.Create(t.Context(), configMap(namespace, name, nil)); err != nil {
			t.Fatalf("after %s and start, with a client from before: %v", name, err)
		}
		<-waited
		if server.Client() != before {
			t.Errorf("after %s the clients have forgotten what they knew", name)
		}
	}
	history := recorder.History()
	if names := objectNames(history); names != "a kill stop" || history.Writes() != 3 {
		t.Errorf("recorded %d writes of %s:\n%s", history.Writes(), names, history)
	}
}

func objectNames(history testkit.History) string {
	var names []string
	for id := range history.Objects() {
		names = append(names, id.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestClusterControllersDeleteNamespaces(t *testing.T) {
	server := testkit.ServerWithControllers(t)
	if testkit.ServerWithControllers(t) != server {
		t.Error("it is not shared")
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: server.Namespace(t)}}
	object := testkit.DataObject(namespace.Name, "a", "of the project").Build()
	testkit.Create(t, server, object)
	mustDelete(t, server, namespace)
	testkit.EventuallyGone(t, server, object)
	testkit.EventuallyGone(t, server, namespace)
}
