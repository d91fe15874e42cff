// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bitbucket

import (
	"net/url"

	"espalier.dev/internal/gitprovider"
)

// CloneURL returns the URL for Git, which differs from that of the repository's page.
func CloneURL(address gitprovider.Address) (string, error) {
	where, err := locate(address)
	if err != nil {
		return "", err
	}
	return address.Scheme + "://" + address.Host + where.place + "/scm/" + url.PathEscape(
		where.project,
	) + "/" + url.PathEscape(
		where.slug,
	) + ".git", nil
}
