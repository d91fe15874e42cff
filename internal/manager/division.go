// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/loop"
	"espalier.dev/internal/shard"
)

const (
	// maxNesting limits the walk up the labels: any user can create a cycle.
	maxNesting = 50
	// cachePatience is how long an event waits for a cache that is not filled yet. A worker on the object waits longer.
	cachePatience = 5 * time.Second
)

// divided is a manager of a process that works on one shard.
type divided struct {
	ctrl.Manager
	division *division
}

// Division implements loop.Divided.
func (d divided) Division() loop.Division { return d.division }

// division determines the shard of an object from the root of its tree. All objects of a tree are in one namespace, and each names the one
// above it.
type division struct {
	shard shard.Shard
	// cache reads objects in memory, and live reads from the API server.
	cache, live client.Reader
}

var _ loop.Division = &division{}

// foreignTo returns a function that detects objects of another process; nil if there is no division.
func foreignTo(mgr ctrl.Manager) func(client.Object) bool {
	if d := loop.DivisionOf(mgr); d != nil {
		return d.Foreign
	}
	return nil
}

// errUnknown means that the cache lacks a required object.
type errUnknown struct{ key types.NamespacedName }

func (e errUnknown) Error() string { return fmt.Sprintf("installation %s is not in the cache", e.key) }

// Foreign implements loop.Division.
func (d *division) Foreign(object client.Object) bool {
	ctx, cancel := context.WithTimeout(context.Background(), cachePatience)
	defer cancel()
	key, err := d.treeOf(ctx, object, d.cached)
	return err == nil && !d.shard.Owns(key)
}

// Owns implements loop.Division.
func (d *division) Owns(ctx context.Context, object client.Object) (bool, error) {
	key, err := d.treeOf(ctx, object, d.cachedOrLive)
	if err != nil {
		return false, fmt.Errorf("find out which shard %s belongs to: %w", client.ObjectKeyFromObject(object), err)
	}
	return d.shard.Owns(key), nil
}

// Shown implements loop.Division.
func (d *division) Shown(kind client.Object, key types.NamespacedName) client.Object {
	ctx, cancel := context.WithTimeout(context.Background(), cachePatience)
	defer cancel()
	object := kind.DeepCopyObject().(client.Object)
	if d.cache.Get(ctx, key, object, client.UnsafeDisableDeepCopy) != nil {
		return nil
	}
	return object
}

// treeOf returns the key of the tree of an object. Objects outside trees are separate, except for TargetSyncs: those of a namespace belong
// together, because a TargetSync works only if it is the only one.
func (d *division) treeOf(ctx context.Context, object client.Object, find finder) (string, error) {
	namespace, above := object.GetNamespace(), ""
	switch o := object.(type) {
	case *lsv1alpha1.TargetSync:
		return shard.Key(namespace, ""), nil
	case *lsv1alpha1.Installation:
		above = installation.ParentOf(o)
	case *lsv1alpha1.Execution:
		above = installationOf(o)
	case *lsv1alpha1.DeployItem:
		above = dataflow.ExecutionOf(o)
	}
	if above == "" {
		return shard.Key(namespace, object.GetName()), nil
	}
	return climb(ctx, types.NamespacedName{Namespace: namespace, Name: above}, find)
}

// finder returns an installation; nil if it does not exist.
type finder func(context.Context, types.NamespacedName) (metav1.Object, error)

// climb returns the key of the tree of an installation. An installation that does not exist counts as the root.
func climb(ctx context.Context, key types.NamespacedName, find finder) (string, error) {
	for range maxNesting {
		found, err := find(ctx, key)
		if err != nil {
			return "", err
		}
		parent := ""
		if found != nil {
			parent = installation.ParentOf(found)
		}
		if parent == "" {
			break
		}
		key.Name = parent
	}
	return shard.Key(key.Namespace, key.Name), nil
}

// installationOf returns the name of the installation of an execution. They share a name, which identifies it even if another client has
// removed the owner.
func installationOf(e *lsv1alpha1.Execution) string {
	for _, owner := range e.OwnerReferences {
		if owner.Kind == "Installation" {
			return owner.Name
		}
	}
	return e.Name
}

func (d *division) cached(ctx context.Context, key types.NamespacedName) (metav1.Object, error) {
	found := &lsv1alpha1.Installation{}
	err := d.cache.Get(ctx, key, found, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, errUnknown{key} // the cache may not have it yet
	}
	return found, err
}

func (d *division) cachedOrLive(ctx context.Context, key types.NamespacedName) (metav1.Object, error) {
	shown, err := d.cached(ctx, key)
	if err == nil || ctx.Err() != nil {
		return shown, err
	}
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(lsv1alpha1.SchemeGroupVersion.WithKind("Installation"))
	err = d.live.Get(ctx, key, found)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}
