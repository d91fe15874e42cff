// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/bitbucket"
)

// CloneURL returns the URL for Git of the repository of a pull-request strategy. The input may also be the URL of its page.
func CloneURL(name v1alpha1.GitProviderType, url string, rules dial.Rules) (string, error) {
	if _, err := Identify(name, url, rules); err != nil {
		return "", err
	}
	address, err := gitprovider.ParseAddress(url, rules)
	if err != nil {
		return "", err
	}
	if name == v1alpha1.GitProviderBitbucketServer {
		return bitbucket.CloneURL(address)
	}
	return address.CloneURL, nil
}
