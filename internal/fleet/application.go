// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// ClusterKey identifies a cluster by the object that describes how to reach it. The zero value is the management cluster, which holds the
// pipelines.
type ClusterKey struct {
	Kind      pipelines.ClusterKind
	Namespace string
	Name      string
}

// IsManagement reports whether it is the cluster that holds the pipelines.
func (k ClusterKey) IsManagement() bool { return k == ClusterKey{} }

// String returns the name of the cluster for messages.
func (k ClusterKey) String() string {
	if k.IsManagement() {
		return "the management cluster"
	}
	return fmt.Sprintf("%s %s/%s", k.Kind, k.Namespace, k.Name)
}

// Application is an object in a cluster that a pipeline refers to.
type Application struct {
	Cluster   ClusterKey
	GVK       schema.GroupVersionKind
	Namespace string
	Name      string
}

// String returns the name of the application for messages.
func (a Application) String() string {
	return fmt.Sprintf("%s %s/%s in %s", a.GVK.Kind, a.Namespace, a.Name, a.Cluster)
}

func (a Application) key() types.NamespacedName {
	return types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
}

// ApplicationOf returns the application that a pipeline refers to on a target. It fails if the pipeline's appRef is invalid.
func ApplicationOf(pipeline *pipelines.Pipeline, target pipelines.Target) (Application, error) {
	reference := pipeline.Spec.AppRef
	version, err := schema.ParseGroupVersion(reference.APIVersion)
	if err != nil || reference.Kind == "" || version.Version == "" {
		return Application{}, fmt.Errorf(
			"spec.appRef has kind %q of %q: set apiVersion to a group and version, such as helm.toolkit.fluxcd.io/v2, and kind",
			reference.Kind,
			reference.APIVersion,
		)
	}
	return Application{
		Cluster:   ClusterOf(pipeline.Namespace, target.ClusterRef),
		GVK:       version.WithKind(reference.Kind),
		Namespace: target.Namespace,
		Name:      reference.Name,
	}, nil
}

// ClusterOf returns the cluster that a reference of a pipeline in a namespace refers to.
func ClusterOf(namespace string, reference *pipelines.ClusterReference) ClusterKey {
	if reference == nil {
		return ClusterKey{}
	}
	key := ClusterKey{Kind: reference.Kind, Namespace: reference.Namespace, Name: reference.Name}
	if key.Namespace == "" {
		key.Namespace = namespace
	}
	return key
}
