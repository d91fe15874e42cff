// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package run

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeletionAnnotation tells an object that takes part in a job that the deletion of something above it was asked for. Its value is the UID
// of the object, so that a copy of it is told nothing. It stays: a deletion cannot be taken back.
const DeletionAnnotation = "espalier.dev/deletion-asked"

// DeletionAsked reports whether the deletion of an object was asked for, or of one above it. A job that only waits is ended by that.
func DeletionAsked(object metav1.Object) bool {
	told := object.GetAnnotations()[DeletionAnnotation]
	return !object.GetDeletionTimestamp().IsZero() || told != "" && told == string(object.GetUID())
}
