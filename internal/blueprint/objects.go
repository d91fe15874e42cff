// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Execution returns the Execution that an installation needs; nil if it has no deploy items. Its deploy items are not
// compressed, and it has no owner yet.
func (o *Output) Execution(of *lsv1alpha1.Installation) *lsv1alpha1.Execution {
	if len(o.DeployItems) == 0 {
		return nil
	}
	return &lsv1alpha1.Execution{
		TypeMeta:   metav1.TypeMeta{APIVersion: lsv1alpha1.SchemeGroupVersion.String(), Kind: "Execution"},
		ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name},
		Spec:       lsv1alpha1.ExecutionSpec{Context: of.Spec.Context, Flow: of.Spec.Flow, DeployItems: o.DeployItems},
	}
}

// Object returns the Installation for a nested installation, without an owner.
func (s *Subinstallation) Object(parent *lsv1alpha1.Installation) *lsv1alpha1.Installation {
	return &lsv1alpha1.Installation{
		TypeMeta: metav1.TypeMeta{APIVersion: lsv1alpha1.SchemeGroupVersion.String(), Kind: "Installation"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   parent.Namespace,
			Name:        s.ObjectName,
			Labels:      map[string]string{lsv1alpha1.EncompassedByLabel: parent.Name},
			Annotations: map[string]string{lsv1alpha1.SubinstallationNameAnnotation: s.Name},
		},
		Spec: s.Spec,
	}
}
