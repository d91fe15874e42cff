// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelinesv1alpha1 "espalier.dev/api/pipelines/v1alpha1"
)

// Slim removes unused metadata from an object before it is cached: managed fields, and the annotation of kubectl apply, which
// contains a copy of the object, including the content of a Secret.
//
// An object that is replaced as a whole must be complete: the write removes whatever is missing. So kubectl's annotation stays
// on kinds that a controller replaces, and where templates see it.
func Slim(object any) (any, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return object, nil // it has no metadata
	}
	accessor.SetManagedFields(nil)
	if annotations := accessor.GetAnnotations(); neverReplaced(object) && annotations[corev1.LastAppliedConfigAnnotation] != "" {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		accessor.SetAnnotations(annotations)
	}
	return object, nil
}

// neverReplaced reports whether controllers change an object only with patches. Templates do not see these objects either. Nested
// installations, executions, deploy items, DataObjects and Targets are replaced.
func neverReplaced(object any) bool {
	switch o := object.(type) {
	case *lsv1alpha1.Installation:
		return len(o.OwnerReferences) == 0 && o.Labels[lsv1alpha1.EncompassedByLabel] == "" &&
			o.Annotations[lsv1alpha1.SubinstallationNameAnnotation] == ""
	case *pipelinesv1alpha1.Pipeline, *metav1.PartialObjectMetadata:
		return true
	default:
		return false
	}
}
