// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/config/crd"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/helmrelease"
)

// helmOn returns the release of the chart on a server.
func helmOn(server *testkit.APIServer) helmrelease.Release {
	return helmrelease.Release{Kubeconfig: server.Kubeconfig(), Namespace: system, Name: "espalier"}
}

func exists(t *testing.T, server *testkit.APIServer, object client.Object) bool {
	t.Helper()
	err := server.Client().Get(t.Context(), client.ObjectKeyFromObject(object), object)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}

// Helm installs, upgrades and uninstalls; users' objects and the CRDs survive all of it.
func TestAReleaseComesAndGoesWithoutTheObjectsOfUsers(t *testing.T) {
	server := testkit.NewServer(t)
	release := helmOn(server)
	if err := release.Install(t.Context(), packedChart(t), ""); err != nil {
		t.Fatal(err)
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "espalier-controller"}}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: deployment.ObjectMeta}
	if !exists(t, server, deployment) || *deployment.Spec.Replicas != 1 || exists(t, server, budget) {
		t.Errorf("one replica was wanted: %+v", deployment.Spec)
	}
	ofUser := testkit.DataObject("default", "of-a-user", 42).Build()
	createOnceServed(t, server, ofUser)

	if err := release.Upgrade(t.Context(), packedChart(t), "controller: {replicas: 2}"); err != nil {
		t.Fatal(err)
	}
	if !exists(t, server, deployment) || *deployment.Spec.Replicas != 2 || !exists(t, server, budget) {
		t.Errorf("two replicas with a budget were wanted: %+v", deployment.Spec)
	}

	if err := release.Uninstall(); err != nil {
		t.Fatal(err)
	}
	definitions, err := crd.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, definition := range definitions {
		if !exists(t, server, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: definition.Name}}) {
			t.Errorf("the definition %s is gone", definition.Name)
		}
	}
	if exists(t, server, deployment) || !exists(t, server, ofUser) {
		t.Error("the controllers are still there, or an object of a user is gone")
	}

	if err := release.Install(t.Context(), packedChart(t), ""); err != nil {
		t.Errorf("it cannot be installed again: %v", err)
	}
	if !exists(t, server, deployment) || !exists(t, server, ofUser) {
		t.Error("the controllers are not back, or an object of a user is gone")
	}
}

// createOnceServed creates an object whose CRD was created just before.
func createOnceServed(t *testing.T, server *testkit.APIServer, object client.Object) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, testkit.Patience, true, func(ctx context.Context) (bool, error) {
		last = server.Client().Create(ctx, object)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%v: %v", err, last)
	}
}
