// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// KubernetesClusterConfig is the configuration of a Target of type TargetTypeKubernetesCluster, in its config or in the
// Secret it refers to. If a configuration contains none of these keys, the whole of it is a kubeconfig.
type KubernetesClusterConfig struct {
	// kubeconfig of the cluster: its text, or the object that the text describes.
	Kubeconfig *AnyJSON `json:"kubeconfig,omitempty"`

	// oidcConfig is for clusters that trust the issuer of the tokens in the controller's own cluster.
	OIDCConfig *OIDCConfig `json:"oidcConfig,omitempty"`

	// selfConfig is for the controller's own cluster.
	SelfConfig *SelfConfig `json:"selfConfig,omitempty"`
}

// OIDCConfig says how to get a token for a cluster that trusts the issuer of the controller's own cluster.
type OIDCConfig struct {
	// server is the URL of the target cluster's API server.
	Server string `json:"server,omitempty"`

	// caData is the certificate authority of the target cluster's API server, PEM in base64.
	CAData []byte `json:"caData,omitempty"`

	// serviceAccount, in the namespace of the Target, whose token is used.
	ServiceAccount LocalObjectReference `json:"serviceAccount,omitzero"`

	// audience of the token.
	Audience []string `json:"audience,omitempty"`

	// expirationSeconds is the lifetime of the token. If it is not set, it is DefaultTokenExpirationSeconds.
	ExpirationSeconds *int64 `json:"expirationSeconds,omitempty"`
}

// SelfConfig says with which rights to deploy to the controller's own cluster.
type SelfConfig struct {
	// serviceAccount, in the namespace of the Target, whose rights are used.
	ServiceAccount LocalObjectReference `json:"serviceAccount,omitzero"`

	// expirationSeconds is the lifetime of the token. If it is not set, it is DefaultTokenExpirationSeconds.
	ExpirationSeconds *int64 `json:"expirationSeconds,omitempty"`
}

// DefaultTokenExpirationSeconds is the lifetime of tokens for OIDCConfig and SelfConfig if none is given.
const DefaultTokenExpirationSeconds int64 = 86400
