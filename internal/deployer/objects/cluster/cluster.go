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

// FieldManager is the name under which the API server records what deployers have set.
const FieldManager = "espalier"

// Cluster is a target cluster.
type Cluster interface {
	// Client is not cached: it reads what is there.
	Client() client.WithWatch
	// Mapper knows the kinds of the cluster.
	Mapper() meta.RESTMapper
	// Watch calls wake when the object may have changed since the call.
	Watch(gvk schema.GroupVersionKind, key client.ObjectKey, wake func()) (stop func(), err error)
}

// Finder returns the cluster of another Target, by the Target's name.
type Finder func(ctx context.Context, targetName string) (Cluster, error)

// FinderOf finds the clusters of the other Targets of some work.
func FinderOf(work deployer.Work) Finder {
	return func(ctx context.Context, targetName string) (Cluster, error) {
		found, err := work.ClusterFor(ctx, targetName)
		if err != nil {
			return nil, err
		}
		return found, nil
	}
}

// None is the error of a deploy item that needs a cluster and has none.
func None() error {
	return failure.Terminalf(
		failure.Details{Operation: "ReadTarget", Reason: "NoCluster", Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)}},
		"spec.target: must name a Target of the type %s", lsv1alpha1.TargetTypeKubernetesCluster,
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

// Read returns the object as it is now.
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

// checkNamespace finds a missing namespace before the client does, whose error says less.
func (s Subject) checkNamespace() error {
	if s.Key.Namespace != "" {
		return nil
	}
	mapping, err := s.Cluster.Mapper().RESTMapping(s.GVK.GroupKind(), s.GVK.Version)
	if err != nil || mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return nil // The client finds the same error and tells of it.
	}
	details := failure.Details{Reason: ReasonRefused, Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)}}
	return failure.Terminalf(details, "%s has no namespace, but its kind needs one: add it", s)
}

// String names the object for people: its kind, namespace and name.
func (s Subject) String() string { return Name(s.GVK.Kind, s.Key) }

// Name is how messages name an object.
func Name(kind string, key client.ObjectKey) string {
	if key.Namespace == "" {
		return kind + " " + key.Name
	}
	return kind + " " + key.Namespace + "/" + key.Name
}
