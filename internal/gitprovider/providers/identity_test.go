// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"strings"
	"testing"

	"espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/providers"
)

const (
	gitHub    = v1alpha1.GitProviderGitHub
	gitLab    = v1alpha1.GitProviderGitLab
	giteaKind = v1alpha1.GitProviderGitea
	bitbucket = v1alpha1.GitProviderBitbucketServer
	azure     = v1alpha1.GitProviderAzureDevOps
)

func TestRepositoriesAreIdentifiedHoweverTheirURLIsSpelt(t *testing.T) {
	for _, c := range []struct {
		kind v1alpha1.GitProviderType
		url  string
		want string
	}{
		{gitHub, "https://github.com/Acme/Shop", "github.com/acme/shop"},
		{gitHub, "https://www.github.com/acme/shop.git", "github.com/acme/shop"},
		{gitHub, "https://github.example.com:8443/acme/shop/", "github.example.com:8443/acme/shop"},
		{gitLab, "https://gitlab.com/acme/web/front/Shop.git", "gitlab.com/acme/web/front/shop"},
		{giteaKind, "https://codeberg.org/acme/shop.git", "codeberg.org/acme/shop"},
		{giteaKind, "https://example.com/git/acme/shop", "example.com/git/acme/shop"},
		{bitbucket, "https://git.example.com/scm/PROJ/shop.git", "git.example.com/proj/shop"},
		{bitbucket, "https://git.example.com/scm/~ada/shop.git", "git.example.com/~ada/shop"},
		{bitbucket, "https://git.example.com/projects/PROJ/repos/shop", "git.example.com/proj/shop"},
		{bitbucket, "https://git.example.com/bitbucket/projects/PROJ/repos/shop/browse", "git.example.com/proj/shop"},
		{bitbucket, "https://git.example.com/users/ada/repos/shop", "git.example.com/~ada/shop"},
		{azure, "https://dev.azure.com/acme/Web%20Team/_git/shop", "dev.azure.com/acme/web team/shop"},
		{azure, "https://acme@dev.azure.com/acme/web/_git/shop", "dev.azure.com/acme/web/shop"},
		{azure, "https://dev.azure.com/acme/_git/shop", "dev.azure.com/acme/shop/shop"},
		{azure, "https://acme.visualstudio.com/web/_git/shop", "acme.visualstudio.com/web/shop"},
		{azure, "https://acme.visualstudio.com/DefaultCollection/web/_git/shop", "acme.visualstudio.com/defaultcollection/web/shop"},
		{azure, "https://acme.visualstudio.com/DefaultCollection/_git/shop", "acme.visualstudio.com/defaultcollection/shop/shop"},
		{azure, "https://acme.visualstudio.com/_git/shop", "acme.visualstudio.com/shop/shop"},
		{azure, "https://tfs.example.com/tfs/Default/web/_git/shop", "tfs.example.com/tfs/default/web/shop"},
		{azure, "https://tfs.example.com/tfs/Default/_git/shop", "tfs.example.com/tfs/default/shop/shop"},
		{azure, "https://tfs.example.com/Default/web/_git/_optimized/shop", "tfs.example.com/default/web/shop"},
		{azure, "https://tfs.example.com/Default/_git/shop", "tfs.example.com/default/shop/shop"},
	} {
		got, err := providers.Identify(c.kind, c.url, dial.Rules{})
		if err != nil || got.String() != c.want {
			t.Errorf("%s: %s, %v, want %s", c.url, got, err, c.want)
		}
		provider, err := providers.New(providers.Settings{Type: c.kind, URL: c.url, Credentials: gitprovider.Credentials{Token: token}})
		if err != nil || provider.Repository() != got {
			t.Errorf("%s: the provider is %v, %v", c.url, provider, err)
		}
	}
}

func TestURLsThatNameNoRepositoryAreRefused(t *testing.T) {
	for _, c := range []struct {
		kind v1alpha1.GitProviderType
		url  string
		part string
	}{
		{gitHub, "https://github.com/acme", "url has 1 parts"},
		{gitHub, "https://github.com/acme/shop/tree/main", "url has 4 parts"},
		{gitLab, "https://gitlab.com/acme", "url has only one part"},
		{gitLab, "https://gitlab.com/acme/shop/-/tree/main", "remove /-"},
		{giteaKind, "https://codeberg.org/acme", "url has only one part"},
		{bitbucket, "https://git.example.com/acme/shop", "https://HOST/scm/PROJECT/REPOSITORY.git"},
		{bitbucket, "https://git.example.com/scm/shop", "https://HOST/scm/PROJECT/REPOSITORY.git"},
		{azure, "https://dev.azure.com/acme/web/shop", "url has no part _git"},
		{azure, "https://dev.azure.com/acme/web/_git", "url has 0 parts after _git"},
		{azure, "https://dev.azure.com/acme/web/_git/shop/pullrequests", "url has 2 parts after _git"},
		{azure, "https://dev.azure.com/_git/shop", "form of the cloud"},
		{azure, "https://dev.azure.com/acme/more/web/_git/shop", "form of the cloud"},
		{azure, "https://tfs.example.com/_git/shop", "has no collection"},
		{"svn", "https://svn.example.com/a/b", `unknown type "svn": use github`},
		{gitHub, "http://github.com/acme/shop", "url begins with http://"},
	} {
		_, err := providers.Identify(c.kind, c.url, dial.Rules{})
		_, errNew := providers.New(providers.Settings{Type: c.kind, URL: c.url, Credentials: gitprovider.Credentials{Token: token}})
		for _, err := range []error{err, errNew} {
			if err == nil || gitprovider.ClassOf(err) != gitprovider.Misconfigured || !strings.Contains(err.Error(), c.part) {
				t.Errorf("%s: error %v, want %q", c.url, err, c.part)
			}
		}
	}
}

func TestAProviderNeedsAToken(t *testing.T) {
	_, err := providers.New(providers.Settings{Type: gitHub, URL: "https://github.com/acme/shop"})
	if gitprovider.ClassOf(err) != gitprovider.Misconfigured || !strings.Contains(err.Error(), `"token"`) {
		t.Errorf("error %v", err)
	}
}
