// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"espalier.dev/api/deployer"
	landscaper "espalier.dev/api/landscaper/v1alpha1"
)

// ProviderConfiguration says what the mock deployer reports.
//
// +kubebuilder:object:root=true
type ProviderConfiguration struct {
	metav1.TypeMeta `json:",inline"`

	// phase that the deploy item ends in. If it is not set, it is Succeeded.
	Phase *landscaper.Phase `json:"phase,omitempty"`

	// initialPhase that the deploy item is put in first.
	InitialPhase *landscaper.Phase `json:"initialPhase,omitempty"`

	// providerStatus is written to the deploy item's status as it is.
	ProviderStatus *runtime.RawExtension `json:"providerStatus,omitempty"`

	// export is what the deploy item exports.
	Export *landscaper.AnyJSON `json:"export,omitempty"`

	// continuousReconcile does all that again at certain times.
	ContinuousReconcile *deployer.ContinuousReconcile `json:"continuousReconcile,omitempty"`
}
