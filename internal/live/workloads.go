// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/objecttree"
)

var (
	replicaSets = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}
	pods        = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	// makes maps workloads to the objects that the controllers of Kubernetes create for them.
	makes = map[schema.GroupKind]schema.GroupVersionKind{
		{Group: "apps", Kind: "Deployment"}:  replicaSets,
		{Group: "apps", Kind: "ReplicaSet"}:  pods,
		{Group: "apps", Kind: "StatefulSet"}: pods,
		{Group: "apps", Kind: "DaemonSet"}:   pods,
		{Group: "batch", Kind: "Job"}:        pods,
	}
)

// below returns the objects of a workload, down to its pods. ReplicaSets with zero desired replicas are left out. A failed list is
// reported as an object that cannot be read.
func below(ctx context.Context, reader client.Reader, owner *unstructured.Unstructured) []objecttree.DeployedObject {
	gvk, found := makes[owner.GroupVersionKind().GroupKind()]
	selector, err := selectorOf(owner)
	if !found || err != nil {
		return nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	matching := client.MatchingLabelsSelector{Selector: selector}
	err = reader.List(ctx, list, client.InNamespace(owner.GetNamespace()), matching, client.Limit(maxBelow))
	if err != nil {
		return []objecttree.DeployedObject{{
			APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Namespace: owner.GetNamespace(), Name: "?",
			State: objecttree.NotReadable, Message: fmt.Sprintf("they cannot be listed: %v", err),
		}}
	}
	var objects []objecttree.DeployedObject
	for i := range list.Items {
		member := &list.Items[i]
		if !ownedBy(member, owner.GetUID()) || gvk == replicaSets && wantsNone(member) {
			continue
		}
		object := objecttree.DeployedObject{
			APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Namespace: member.GetNamespace(), Name: member.GetName(),
		}
		object.State, object.Message = stateOf(member)
		object.Below = below(ctx, reader, member)
		objects = append(objects, object)
	}
	return objects
}

func selectorOf(owner *unstructured.Unstructured) (labels.Selector, error) {
	fields, _, err := unstructured.NestedMap(owner.Object, "spec", "selector")
	if err != nil {
		return nil, err
	}
	var wanted metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &wanted); err != nil {
		return nil, err
	}
	return metav1.LabelSelectorAsSelector(&wanted)
}

func ownedBy(object *unstructured.Unstructured, uid types.UID) bool {
	for _, owner := range object.GetOwnerReferences() {
		if owner.UID == uid {
			return true
		}
	}
	return false
}

func wantsNone(replicaSet *unstructured.Unstructured) bool {
	wanted, found, err := unstructured.NestedInt64(replicaSet.Object, "spec", "replicas")
	return err == nil && found && wanted == 0
}
