// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Labels name the object above another one. Another client may remove them; then the owner still identifies it.

// ParentOf returns the name of the installation that an installation is nested in; empty for a root.
func ParentOf(inst metav1.Object) string {
	if parent := inst.GetLabels()[lsv1alpha1.EncompassedByLabel]; parent != "" {
		return parent
	}
	return nameOf(metav1.GetControllerOfNoCopy(inst), kindInstallation)
}

// ExecutionOf returns the name of the execution of a deploy item, which is also that of the installation; empty for a deploy item without
// an execution.
func ExecutionOf(item metav1.Object) string {
	if name := item.GetLabels()[lsv1alpha1.ExecutionManagedByLabel]; name != "" {
		return name
	}
	return nameOf(metav1.GetControllerOfNoCopy(item), kindExecution)
}

// SourceOf returns the name of the installation that has written a DataObject or Target; empty if none has.
func SourceOf(object metav1.Object) string {
	if label := object.GetLabels()[lsv1alpha1.DataObjectSourceLabel]; label != "" {
		name, _ := InstallationOf(label)
		return name
	}
	for _, owner := range object.GetOwnerReferences() {
		if name := nameOf(&owner, kindInstallation); name != "" {
			return name
		}
	}
	return ""
}

// nameOf returns the name of an owner of this kind; empty for other owners.
func nameOf(owner *metav1.OwnerReference, kind string) string {
	if owner == nil || owner.Kind != kind || owner.APIVersion != lsv1alpha1.SchemeGroupVersion.String() {
		return ""
	}
	return owner.Name
}
