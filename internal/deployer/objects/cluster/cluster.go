// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/failure"
)

// FieldManager is the field manager of all deployers.
const FieldManager = "espalier"

// Cluster is a target cluster.
type Cluster interface {
	// Client reads without a cache.
	Client() client.WithWatch
	// Mapper maps the kinds of the cluster.
	Mapper() meta.RESTMapper
	// Watch calls wake when the object may have changed since the call.
	Watch(gvk schema.GroupVersionKind, key client.ObjectKey, wake func()) (stop func(), err error)
}

// Finder returns the cluster of another Target, by the Target's name.
type Finder func(ctx context.Context, targetName string) (Cluster, error)

// FinderOf returns the Finder for the other Targets of a deploy item.
func FinderOf(work deployer.Work) Finder {
	return func(ctx context.Context, targetName string) (Cluster, error) {
		found, err := work.ClusterFor(ctx, targetName)
		if err != nil {
			return nil, err
		}
		return found, nil
	}
}

// None returns the error of a deploy item that needs a cluster and has none.
func None() error {
	return failure.Terminalf(
		failure.Details{Operation: "ReadTarget", Reason: "NoCluster", Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)}},
		"spec.target: must be a Target of type %s", lsv1alpha1.TargetTypeKubernetesCluster,
	)
}

// Choose returns the cluster of the named Target, or the given one if there is no name.
func (f Finder) Choose(ctx context.Context, own Cluster, targetName *string) (Cluster, error) {
	if targetName == nil || *targetName == "" {
		return own, nil
	}
	return f(ctx, *targetName)
}

// Subject is an object that may or may not exist.
type Subject struct {
	Cluster Cluster
	GVK     schema.GroupVersionKind
	Key     client.ObjectKey
}

// SubjectOf names an object.
func SubjectOf(c Cluster, object *unstructured.Unstructured) Subject {
	return Subject{Cluster: c, GVK: object.GroupVersionKind(), Key: client.ObjectKeyFromObject(object)}
}

// Read returns the current object.
func (s Subject) Read(ctx context.Context) (*unstructured.Unstructured, error) {
	if err := s.checkNamespace(); err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(s.GVK)
	if err := s.Cluster.Client().Get(ctx, s.Key, object); err != nil {
		return nil, err
	}
	return object, nil
}

// checkNamespace detects a missing namespace before the client does, with a clearer error.
func (s Subject) checkNamespace() error {
	if s.Key.Namespace != "" {
		return nil
	}
	mapping, err := s.Cluster.Mapper().RESTMapping(s.GVK.GroupKind(), s.GVK.Version)
	if err != nil || mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return nil // The client finds the same error and reports it.
	}
	details := failure.Details{Reason: ReasonRefused, Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)}}
	return failure.Terminalf(details, "%s needs a namespace: add one", s)
}

// String returns kind, namespace and name of the object, for messages.
func (s Subject) String() string { return Name(s.GVK.Kind, s.Key) }

// Name returns the name of an object in messages.
func Name(kind string, key client.ObjectKey) string {
	if key.Namespace == "" {
		return kind + " " + key.Name
	}
	return kind + " " + key.Namespace + "/" + key.Name
}
