// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package providers selects the package for a kind of Git server.
package providers

import (
	"net/http"

	"espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/azure"
	"espalier.dev/internal/gitprovider/bitbucket"
	"espalier.dev/internal/gitprovider/gitea"
	"espalier.dev/internal/gitprovider/github"
	"espalier.dev/internal/gitprovider/gitlab"
)

// kind is the interface of each package.
type kind struct {
	open         func(gitprovider.Address, gitprovider.Credentials, dial.Rules) (gitprovider.Provider, error)
	identify     func(gitprovider.Address) (gitprovider.Repository, error)
	parseWebhook func(header http.Header, body, secret []byte) (gitprovider.Event, error)
}

var kinds = map[v1alpha1.GitProviderType]kind{
	v1alpha1.GitProviderGitHub:          {open: github.New, identify: github.Identify, parseWebhook: github.ParseWebhook},
	v1alpha1.GitProviderGitLab:          {open: gitlab.New, identify: gitlab.Identify, parseWebhook: gitlab.ParseWebhook},
	v1alpha1.GitProviderGitea:           {open: gitea.New, identify: gitea.Identify, parseWebhook: gitea.ParseWebhook},
	v1alpha1.GitProviderBitbucketServer: {open: bitbucket.New, identify: bitbucket.Identify, parseWebhook: bitbucket.ParseWebhook},
	v1alpha1.GitProviderAzureDevOps:     {open: azure.New, identify: azure.Identify, parseWebhook: azure.ParseWebhook},
}

func kindOf(name v1alpha1.GitProviderType) (kind, error) {
	found, ok := kinds[name]
	if !ok {
		return kind{}, gitprovider.Misconfiguredf("unknown type %q: use github, gitlab, gitea, bitbucket-server or azure-devops", name)
	}
	return found, nil
}

// Settings identify a repository and how to reach it.
type Settings struct {
	// Type and URL are those of the pull-request strategy.
	Type v1alpha1.GitProviderType
	URL  string
	// Credentials from its Secret.
	Credentials gitprovider.Credentials
	// Rules for connections.
	Rules dial.Rules
}

// New returns the repository. It sends no request yet. The result is usable as long as the settings stay the same.
func New(settings Settings) (gitprovider.Provider, error) {
	kind, err := kindOf(settings.Type)
	if err != nil {
		return nil, err
	}
	address, err := gitprovider.ParseAddress(settings.URL, settings.Rules)
	if err != nil {
		return nil, err
	}
	if settings.Credentials.Token == "" {
		return nil, gitprovider.Misconfiguredf(
			"no token for the API of the Git server: add it under %q to the Secret",
			gitprovider.KeyToken,
		)
	}
	return kind.open(address, settings.Credentials, settings.Rules)
}

// Identify returns the repository of a pull-request strategy, without credentials. Different spellings of one repository give the same
// result.
func Identify(name v1alpha1.GitProviderType, url string, rules dial.Rules) (gitprovider.Repository, error) {
	kind, err := kindOf(name)
	if err != nil {
		return gitprovider.Repository{}, err
	}
	address, err := gitprovider.ParseAddress(url, rules)
	if err != nil {
		return gitprovider.Repository{}, err
	}
	return kind.identify(address)
}

// ParseWebhook parses a webhook call. Errors are gitprovider.ErrUnsigned, ErrIgnored and ErrUnreadable, or the error for an unknown type.
func ParseWebhook(name v1alpha1.GitProviderType, header http.Header, body, secret []byte) (gitprovider.Event, error) {
	kind, err := kindOf(name)
	if err != nil {
		return gitprovider.Event{}, err
	}
	return kind.parseWebhook(header, body, secret)
}
