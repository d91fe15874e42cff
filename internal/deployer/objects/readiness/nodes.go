// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/deployer/objects/cluster"
)

// NoNodes is added to the message about objects that wait for pods in a cluster without nodes.
const NoNodes = "The cluster has no nodes, so no pod can run: start it with `espalier up --node`, or use another target"

// workloads are the kinds that need running pods to become ready.
var workloads = map[schema.GroupKind]bool{
	{Kind: "Pod"}: true, {Kind: "ReplicationController"}: true,
	{Group: "apps", Kind: "Deployment"}: true, {Group: "apps", Kind: "StatefulSet"}: true,
	{Group: "apps", Kind: "DaemonSet"}: true, {Group: "apps", Kind: "ReplicaSet"}: true,
	{Group: "batch", Kind: "Job"}: true,
}

// NeedsNodes reports whether objects of the kind need running pods to become ready.
func NeedsNodes(kind schema.GroupKind) bool { return workloads[kind] }

// LacksNodes reports whether the cluster has no nodes, and whether the result is final. It is final once the cluster has nodes, or if
// listing them is not permitted: then the cluster counts as having some.
func LacksNodes(ctx context.Context, target cluster.Cluster) (lacks, settled bool) {
	nodes := &unstructured.UnstructuredList{}
	nodes.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "NodeList"})
	switch err := target.Client().List(ctx, nodes, client.Limit(1)); {
	case apierrors.IsForbidden(err):
		return false, true
	case err != nil:
		return false, false
	}
	return len(nodes.Items) == 0, len(nodes.Items) > 0
}
