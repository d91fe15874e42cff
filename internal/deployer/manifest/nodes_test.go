// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/readiness"
	"espalier.dev/internal/testkit"
)

const claim = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: disk, namespace: NAMESPACE}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`

// While pods cannot run because there are no nodes, the wait message says so. Once there is a node, the nodes are not listed
// again.
func TestWhoWaitsForPodsWithoutNodesHearsOfIt(t *testing.T) {
	w := newWorldOn(t, testkit.NewServer(t), "")
	w.waits(these(claim), cluster.WaitingForReadiness, "PersistentVolumeClaim NAMESPACE/disk")
	if w.looksForNodes() != 0 {
		t.Error("nodes matter for a claim")
	}
	w.waits(these(claim, web), cluster.WaitingForReadiness, readiness.NoNodes)
	w.waits(these(claim, web, job), cluster.WaitingForReadiness, readiness.NoNodes)

	if err := w.Client().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "one"}}); err != nil {
		t.Fatal(err)
	}
	before := w.looksForNodes()
	for range 3 {
		progress, err := w.pass()
		if err != nil || strings.Contains(progress.Waiting.Message, readiness.NoNodes) {
			t.Fatalf("with a node it says %+v, %v", progress.Waiting, err)
		}
	}
	if asked := w.looksForNodes() - before; before == 0 || asked != 1 {
		t.Errorf("nodes were looked for %d times before there was one, and %d times since", before, asked)
	}
}

// looksForNodes counts how often the nodes of the cluster were listed.
func (w *world) looksForNodes() int {
	count := 0
	for _, entry := range w.transport.Log() {
		if entry.Verb == "list" && entry.Resource == "nodes" {
			count++
		}
	}
	return count
}

// seenBy is a cluster as seen with other credentials.
type seenBy struct {
	cluster.Cluster
	own client.WithWatch
}

func (s seenBy) Client() client.WithWatch { return s.own }

// Without the right to list nodes, the cluster counts as having some.
func TestNodesThatMayNotBeSeenAreTakenForGranted(t *testing.T) {
	config := testkit.Server(t).Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: "somebody"}
	own, err := client.NewWithWatch(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if lacks, settled := readiness.LacksNodes(t.Context(), seenBy{own: own}); lacks || !settled {
		t.Errorf("lacks nodes: %t, settled: %t", lacks, settled)
	}
}
