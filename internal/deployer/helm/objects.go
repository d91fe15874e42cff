// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"
	"slices"

	release "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"espalier.dev/api/deployer"
	helmv1alpha1 "espalier.dev/api/deployer/helm/v1alpha1"
	"espalier.dev/internal/deployer/helm/render"
	"espalier.dev/internal/deployer/objects/apply"
	"espalier.dev/internal/deployer/objects/documents"
	"espalier.dev/internal/deployer/objects/inventory"
)

// Marks that Helm puts on the objects of a release.
const (
	managedByLabel      = "app.kubernetes.io/managed-by"
	managedByHelm       = "Helm"
	nameAnnotation      = "meta.helm.sh/release-name"
	namespaceAnnotation = "meta.helm.sh/release-namespace"
)

// belongsTo reports whether an object belongs to a release.
func belongsTo(reference helmv1alpha1.ReleaseReference, live *unstructured.Unstructured) bool {
	annotations := live.GetAnnotations()
	return live.GetLabels()[managedByLabel] == managedByHelm &&
		annotations[nameAnnotation] == reference.Name && annotations[namespaceAnnotation] == reference.Namespace
}

// objectsOf returns the objects of a revision, without its hooks and CRDs.
func objectsOf(r *release.Release, mapper meta.RESTMapper, namespace string) ([]apply.Object, error) {
	found, err := documents.Split(r.Manifest)
	if err != nil {
		return nil, fmt.Errorf("the record of revision %d: %w", r.Version, err)
	}
	var objects []apply.Object
	for _, object := range found {
		policy := deployer.PolicyManage
		if render.IsKept(object) {
			policy = deployer.PolicyKeep
		}
		objects = append(objects, apply.Object{Manifest: object, Path: fmt.Sprintf("revision %d", r.Version), Policy: policy})
	}
	return apply.Place(objects, mapper, namespace)
}

// keysOf returns the keys of objects as a set.
func keysOf(objects []apply.Object) map[inventory.Key]bool {
	result := map[inventory.Key]bool{}
	for _, o := range objects {
		result[o.Key()] = true
	}
	return result
}

// workloadKinds are the kinds listed in the status of a release.
var workloadKinds = []string{"/Pod", "/ReplicationController", "apps/Deployment", "apps/ReplicaSet", "apps/StatefulSet", "apps/DaemonSet"}

// workloadsOf lists the workloads of a release in the form of earlier controllers: without a policy.
func workloadsOf(objects []apply.Object) []deployer.ManagedResource {
	var result []deployer.ManagedResource
	for _, o := range objects {
		if !slices.Contains(workloadKinds, o.Manifest.GroupVersionKind().Group+"/"+o.Manifest.GetKind()) {
			continue
		}
		result = append(result, deployer.ManagedResource{Resource: o.Entry().Resource})
	}
	return result
}
