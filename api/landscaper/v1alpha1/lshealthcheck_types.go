// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LsHealthCheck reports whether the controllers and deployers themselves are running.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=lshc,categories=espalier
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status`
// +kubebuilder:printcolumn:name="LastUpdateTime",type=date,JSONPath=`.lastUpdateTime`
// +kubebuilder:printcolumn:name="Description",type=string,priority=1,JSONPath=`.description`
type LsHealthCheck struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// status is Ok if everything runs, Failed if something does not, and Init before the first check.
	// +required
	Status LsHealthCheckStatus `json:"status"`

	// lastUpdateTime is when the check was last made.
	// +required
	LastUpdateTime metav1.Time `json:"lastUpdateTime"`

	// description says what does not run.
	// +required
	Description string `json:"description"`
}

// LsHealthCheckList is a list of LsHealthChecks.
//
// +kubebuilder:object:root=true
type LsHealthCheckList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LsHealthCheck `json:"items"`
}

// LsHealthCheckStatus is the result of a health check.
type LsHealthCheckStatus string

// Results of a health check.
const (
	LsHealthCheckOk     LsHealthCheckStatus = "Ok"
	LsHealthCheckFailed LsHealthCheckStatus = "Failed"
	LsHealthCheckInit   LsHealthCheckStatus = "Init"
)
