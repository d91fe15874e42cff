// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"testing"

	"espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/gitprovider/providers"
)

func TestPIP22_GitFindsTheRepositoryByTheURLOfItsPage(t *testing.T) {
	for _, c := range []struct {
		kind      v1alpha1.GitProviderType
		url, want string
	}{
		{gitHub, "https://ann@github.com/acme/shop", "https://github.com/acme/shop"},
		{giteaKind, "https://git.example.com/acme/shop.git", "https://git.example.com/acme/shop.git"},
		{bitbucket, "https://git.example.com:7990/scm/ACME/shop.git", "https://git.example.com:7990/scm/ACME/shop.git"},
		{bitbucket, "https://git.example.com/x/projects/ACME/repos/shop/browse", "https://git.example.com/x/scm/ACME/shop.git"},
		{bitbucket, "https://git.example.com/users/ann/repos/shop", "https://git.example.com/scm/~ann/shop.git"},
		{azure, "https://dev.azure.com/acme/web/_git/shop", "https://dev.azure.com/acme/web/_git/shop"},
	} {
		if got, err := providers.CloneURL(c.kind, c.url, dial.Rules{}); err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", c.url, got, err, c.want)
		}
	}
	for kind, url := range map[v1alpha1.GitProviderType]string{
		bitbucket: "https://git.example.com/shop",
		gitHub:    "ssh://git@github.com/acme/shop",
		"svn":     "https://a/b/c",
	} {
		if got, err := providers.CloneURL(kind, url, dial.Rules{}); err == nil {
			t.Errorf("%s: %s", url, got)
		}
	}
}
