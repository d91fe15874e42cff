// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import landscaper "espalier.dev/api/landscaper/v1alpha1"

// ChartRepoCredentialsKey is the key in Context.configurations under which ChartRepoCredentials are found.
const ChartRepoCredentialsKey = "helmChartRepoCredentials"

// ChartRepoCredentials are credentials for Helm repositories.
type ChartRepoCredentials struct {
	// auths are the credentials, one for each repository.
	Auths []ChartRepoAuth `json:"auths,omitempty"`
}

// ChartRepoAuth are credentials for one Helm repository. At most one of authHeader and secretRef is set.
type ChartRepoAuth struct {
	// url of the repository.
	URL string `json:"url,omitempty"`

	// customCAData is the certificate authority of the repository, PEM.
	CustomCAData string `json:"customCAData,omitempty"`

	// authHeader is the value of the header Authorization.
	AuthHeader string `json:"authHeader,omitempty"`

	// secretRef names a Secret with that value.
	SecretRef *landscaper.LocalSecretReference `json:"secretRef,omitempty"`
}
