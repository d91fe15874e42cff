// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit"
)

// A deployer in a separate process, near the targets that it is responsible for.
func TestADeployerAloneWorksOnItsShare(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	launch(t, "--controllers=deployer-mock", "--namespaces", namespace, "--leader-elect-namespace", namespace,
		"--deployer-identity=north", "--deployer-target-selector=labels=side=north", "--deployer-target-selector=targets="+namespace+"/named")
	testkit.Create(t, server,
		testkit.Target(namespace, "labelled").Label("side", "north").Build(),
		testkit.Target(namespace, "named").Build(),
		testkit.Target(namespace, "other").Label("side", "south").Build())
	other := startItem(t, server, namespace, "other")
	for _, target := range []string{"labelled", "named"} {
		done := testkit.EventuallyFinished(t, server, startItem(t, server, namespace, target), landscaper.PhaseSucceeded)
		if by := done.Status.Deployer; by.Identity != "north" || by.Name != "deployer-mock" || by.Version == "" {
			t.Errorf("%s was deployed by %+v", target, by)
		}
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: manager.LeaseName + "-north"}}
	testkit.Eventually(t, server, lease, testkit.Is("held", isHeld))
	now := other.DeepCopy()
	if err := server.Client().Get(t.Context(), client.ObjectKeyFromObject(other), now); err != nil ||
		now.ResourceVersion != other.ResourceVersion {
		t.Errorf("the item of another target was touched: %v, %+v", err, now.Status)
	}
}

// startItem creates a mock deploy item for a target and starts a job.
func startItem(t *testing.T, server *testkit.APIServer, namespace, target string) *landscaper.DeployItem {
	t.Helper()
	item := testkit.DeployItem(namespace, "on-"+target).Target(target).Build()
	testkit.Create(t, server, item)
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"jobID":"first"}}`))
	if err := server.Client().Status().Patch(t.Context(), item, patch); err != nil {
		t.Fatal(err)
	}
	return item
}
