// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/managed"
)

const mockBlueprint = `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems:
    - name: item
      type: landscaper.gardener.cloud/mock
      config: {apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration}
`

// A namespace has many jobs and another one a single job, which the controllers see last. It does not come last: it finishes before half
// of the others, on its way through the queues of installations, executions and the deployer.
func TestASingleJobDoesNotWaitForTheManyOfAnotherNamespace(t *testing.T) {
	const many = 60
	server := testkit.NewServer(t, testkit.ProjectCRDs())
	flooded, calm := "a-flooded", "b-calm" // in the order in which the API server lists them
	var flood []*landscaper.Installation
	for _, namespace := range []string{flooded, calm} {
		testkit.Create(
			t,
			server,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
			testkit.Context(namespace, landscaper.DefaultContextName).Build(),
		)
	}
	for i := range many {
		one := testkit.Installation(flooded, fmt.Sprintf("flood-%02d", i)).Blueprint(mockBlueprint).Reconcile().Build()
		testkit.Create(t, server, one)
		flood = append(flood, one)
	}
	single := testkit.Installation(calm, "single").Blueprint(mockBlueprint).Reconcile().Build()
	testkit.Create(t, server, single)
	managed.Run(t, server.Config(), managed.Options())

	single = testkit.EventuallyFinished(t, server, single, landscaper.PhaseSucceeded)
	earlier := 0
	for _, one := range flood {
		one = testkit.EventuallyFinished(t, server, one, landscaper.PhaseSucceeded)
		// The end of a job is the last write to an installation, so versions tell who has finished first.
		order, err := resourceversion.CompareResourceVersion(one.ResourceVersion, single.ResourceVersion)
		if err != nil {
			t.Fatal(err)
		}
		if order < 0 {
			earlier++
		}
	}
	t.Logf("%d of %d jobs of the other namespace have finished before the single one", earlier, many)
	if earlier >= many/2 {
		t.Errorf("%d of %d jobs of the other namespace have finished before the single one, want less than half", earlier, many)
	}
}
