// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DataObject holds a value that installations import or export. Its content is readable by everyone who may
// read DataObjects; confidential values belong in Secrets.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=dobj;do,categories=espalier
// +kubebuilder:printcolumn:name="Context",type=string,JSONPath=`.metadata.labels['data\.landscaper\.gardener\.cloud\/context']`
// +kubebuilder:printcolumn:name="Key",type=string,JSONPath=`.metadata.labels['data\.landscaper\.gardener\.cloud\/key']`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Source",type=string,priority=1,JSONPath=`.metadata.labels['data\.landscaper\.gardener\.cloud\/source']`
type DataObject struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// data is the value: any JSON.
	// +required
	Data AnyJSON `json:"data"`
}

// DataObjectList is a list of DataObjects.
//
// +kubebuilder:object:root=true
type DataObjectList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DataObject `json:"items"`
}
