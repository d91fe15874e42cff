// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package run

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeletionAnnotation tells an object in progress that the deletion of an object above it was requested. Its value is the UID of the object,
// so that it has no effect on a copy. It stays: a deletion cannot be reverted.
const DeletionAnnotation = "espalier.dev/deletion-asked"

// DeletionAsked reports whether the deletion of an object, or of one above it, was requested. That ends work that only waits.
func DeletionAsked(object metav1.Object) bool {
	told := object.GetAnnotations()[DeletionAnnotation]
	return !object.GetDeletionTimestamp().IsZero() || told != "" && told == string(object.GetUID())
}
