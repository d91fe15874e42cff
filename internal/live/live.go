// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package live looks at what deploy items have in their target clusters, down to the pods of workloads: with the rights of whoever asks to
// read Targets and their Secrets, and with the credentials of the Target to read the rest. It never writes, and it reads no object that
// the deployer has not recorded, except the ReplicaSets and Pods of those, and the record of a release, which names its objects.
package live

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/readiness"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/target"
)

const (
	// patience is how long one look may take unless the Reader says otherwise.
	patience = 10 * time.Second
	// atOnce is how many objects of a deploy item are read at the same time.
	atOnce = 8
	// maxObjects bounds what is read of a deploy item, maxBelow what is read below a workload.
	maxObjects, maxBelow = 500, 100
)

// Reader looks at target clusters.
type Reader struct {
	// Host reads Targets, with the rights of whoever asks.
	Host     client.Reader
	Clusters *target.Clusters
	// KeepTokens has Reach create no tokens of service accounts for other clusters. Whoever looks at the Targets of others with rights that
	// these have not would otherwise send such tokens wherever a Target says.
	KeepTokens bool
	// Limit is how long one look may take; 10 s unless set.
	Limit time.Duration
}

// within bounds one look: a cluster that does not answer must not hold up the others.
func (r Reader) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, cmp.Or(r.Limit, patience))
}

// Of returns the objects of a deploy item with their states. An error says why the cluster as a whole could not be looked at.
func (r Reader) Of(
	ctx context.Context,
	item *lsv1alpha1.DeployItem,
	objects []objecttree.DeployedObject,
) ([]objecttree.DeployedObject, error) {
	ctx, cancel := r.within(ctx)
	defer cancel()
	reader, err := r.clusterOf(ctx, item)
	if err != nil {
		return objects, err
	}
	looked := make([]objecttree.DeployedObject, len(objects))
	copy(looked, objects)
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range looked[:min(len(looked), maxObjects)] {
		group.Go(func() error {
			look(ctx, reader, &looked[i])
			return nil
		})
	}
	return looked, group.Wait()
}

func (r Reader) clusterOf(ctx context.Context, item *lsv1alpha1.DeployItem) (client.Client, error) {
	reference := item.Spec.Target
	if reference == nil {
		return nil, fmt.Errorf("deploy item %s/%s names no target", item.Namespace, item.Name)
	}
	if len(validation.IsDNS1123Subdomain(reference.Name)) > 0 { // It may be the value of a Secret.
		return nil, fmt.Errorf("deploy item %s/%s names a target that cannot exist: spec.target.name is no name", item.Namespace, item.Name)
	}
	var t lsv1alpha1.Target
	if err := r.Host.Get(ctx, client.ObjectKey{Namespace: item.Namespace, Name: reference.Name}, &t); err != nil {
		return nil, fmt.Errorf("read Target %s/%s: %w", item.Namespace, reference.Name, err)
	}
	found, err := r.Clusters.For(ctx, &t)
	if err != nil {
		return nil, err
	}
	return found.Client(), nil
}

// look finds out about one object.
func look(ctx context.Context, reader client.Reader, object *objecttree.DeployedObject) {
	gvk := schema.FromAPIVersionAndKind(object.APIVersion, object.Kind)
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(gvk)
	key := client.ObjectKey{Namespace: object.Namespace, Name: object.Name}
	err := reader.Get(ctx, key, found)
	switch {
	case apierrors.IsNotFound(err):
		object.State, object.Message = objecttree.Gone, "it does not exist in the cluster"
	case err != nil:
		refused := cluster.Refused("read", cluster.Subject{GVK: gvk, Key: key}, err)
		object.State, object.Message = objecttree.NotReadable, refused.Error()
	default:
		object.State, object.Message = judge(found)
		object.Below = below(ctx, reader, found)
	}
}

// judge says how an object is doing.
func judge(object *unstructured.Unstructured) (objecttree.LiveState, string) {
	switch state := readiness.Of(object); {
	case object.GetDeletionTimestamp() != nil:
		return objecttree.NotReady, "it is being deleted"
	case state.Failed != "":
		return objecttree.Broken, state.Failed
	case state.Ready:
		return objecttree.Ready, ""
	case object.GroupVersionKind() == pods:
		return objecttree.NotReady, cmp.Or(podProblem(object), state.Missing)
	default:
		return objecttree.NotReady, state.Missing
	}
}
