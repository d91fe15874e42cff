// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Context holds what installations share: where components are stored, the credentials to read them, and settings of
// deployers. Installations use the Context "default" of their namespace unless they name another.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=ctx,categories=espalier
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Context struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	ContextConfiguration `json:",inline"`
}

// ContextList is a list of Contexts.
//
// +kubebuilder:object:root=true
type ContextList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Context `json:"items"`
}

// DefaultContextName is the name of the Context that is used if none is named.
const DefaultContextName = "default"

// ContextConfiguration is the content of a Context. It stands at the top of the object, not under spec.
type ContextConfiguration struct {
	// repositoryContext says where components are stored. Installations that give none themselves use it.
	// +optional
	RepositoryContext *AnyJSON `json:"repositoryContext,omitempty"`

	// ocmConfig names a ConfigMap with an OCM configuration file under the key .ocmconfig.
	// +optional
	OCMConfig *LocalObjectReference `json:"ocmConfig,omitempty"`

	// registryPullSecrets name Secrets with credentials for registries, of the types that Kubernetes uses to pull
	// images.
	// +optional
	RegistryPullSecrets []LocalObjectReference `json:"registryPullSecrets,omitempty"`

	// configurations are settings for deployers and others. Use keys that look like domain names, to prevent
	// collisions. The helm deployer reads helmChartRepoCredentials.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Configurations map[string]AnyJSON `json:"configurations,omitempty"`

	// componentVersionOverwrites is the name of a ComponentVersionOverwrites in the same namespace. If it is empty,
	// nothing is overwritten.
	// +optional
	ComponentVersionOverwritesReference string `json:"componentVersionOverwrites,omitempty"`

	// verificationSignatures say, for each name of a signature, which keys or certificates are trusted.
	// +optional
	VerificationSignatures map[string]VerificationSignature `json:"verificationSignatures,omitempty"`
}

// VerificationSignature says which keys or certificates are trusted for a signature.
type VerificationSignature struct {
	// publicKeySecretReference names a Secret with a public key, PEM.
	// +optional
	PublicKeySecretReference *SecretReference `json:"publicKeySecretReference,omitempty"`

	// caCertificateSecretReference names a Secret with the certificates of one or more authorities, PEM.
	// +optional
	CACertificateSecretReference *SecretReference `json:"caCertificateSecretReference,omitempty"`
}
