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

// Slim removes from an object what no controller reads, before it is cached: managed fields, and the annotation of kubectl apply, which
// contains a copy of the object, including the content of a Secret.
//
// An object that is written back as a whole must be complete: the write would remove what is missing. So kubectl's annotation stays
// wherever a controller replaces objects, and where templates see it.
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

// neverReplaced reports whether controllers change an object only with patches. Templates do not see such objects either. Nested
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
