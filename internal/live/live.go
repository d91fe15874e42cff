// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package live reads the objects that deploy items have in their target clusters, down to the pods of workloads: it reads Targets and
// their Secrets with the rights of the caller, and everything else with the credential of the Target. It never writes, and it reads only
// objects that the deployer has recorded, their ReplicaSets and Pods, and the record of a release, which names its objects.
package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
	"espalier.dev/internal/masking"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/target"
)

const (
	// patience is the default time limit of one call.
	patience = 10 * time.Second
	// atOnce is how many objects of a deploy item are read concurrently.
	atOnce = 8
	// maxObjects bounds how many objects of a deploy item are read, maxBelow how many below a workload.
	maxObjects, maxBelow = 500, 100
)

// Reader reads objects in target clusters.
type Reader struct {
	// Host reads Targets, with the rights of the caller.
	Host     client.Reader
	Clusters *target.Clusters
	// KeepTokens makes Reach create no tokens of service accounts for other clusters. A caller with more rights than the owners of the
	// Targets would otherwise send such tokens wherever a Target points.
	KeepTokens bool
	// Limit is the time limit of one call; default 10 s.
	Limit time.Duration
	// Secrets returns what messages about the objects of a deploy item must not show. Controllers may quote it
	// in the status of an object. Nil means nothing.
	Secrets func(context.Context, *lsv1alpha1.DeployItem) *masking.Values
}

// within limits the time of one call: a cluster that does not answer must not delay the others.
func (r Reader) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, cmp.Or(r.Limit, patience))
}

// Of returns the objects of a deploy item with their states. An error says why the cluster as a whole could not be read.
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
	checked := make([]objecttree.DeployedObject, len(objects))
	copy(checked, objects)
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range checked[:min(len(checked), maxObjects)] {
		group.Go(func() error {
			readState(ctx, reader, &checked[i])
			return nil
		})
	}
	err = group.Wait()
	if r.Secrets != nil && slices.ContainsFunc(checked, says) {
		conceal(checked, r.Secrets(ctx, item))
	}
	return checked, err
}

// says reports whether there is a message about an object, or one below it.
func says(object objecttree.DeployedObject) bool {
	return object.Message != "" || slices.ContainsFunc(object.Below, says)
}

func conceal(objects []objecttree.DeployedObject, secrets *masking.Values) {
	for i := range objects {
		objects[i].Message = secrets.Text(objects[i].Message)
		conceal(objects[i].Below, secrets)
	}
}

func (r Reader) clusterOf(ctx context.Context, item *lsv1alpha1.DeployItem) (client.Client, error) {
	reference := item.Spec.Target
	if reference == nil {
		return nil, fmt.Errorf("deploy item %s/%s names no target", item.Namespace, item.Name)
	}
	if len(validation.IsDNS1123Subdomain(reference.Name)) > 0 { // It may be the value of a Secret.
		return nil, fmt.Errorf("deploy item %s/%s has an invalid target: spec.target.name is not a valid name", item.Namespace, item.Name)
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

// readState determines the state of one object.
func readState(ctx context.Context, reader client.Reader, object *objecttree.DeployedObject) {
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
		object.State, object.Message = stateOf(found)
		object.Below = below(ctx, reader, found)
	}
}

// stateOf returns the state of an object, with a message.
func stateOf(object *unstructured.Unstructured) (objecttree.LiveState, string) {
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
