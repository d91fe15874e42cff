// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"strings"

	"espalier.dev/internal/gitprovider"
)

const (
	maxCheckPages = 5  // beyond these pages, the checks of a pull request are incomplete
	maxCheckName  = 60 // bytes
)

// AllChecks reads checks page by page. It returns false if there may be others that were not read, for example because the credentials do
// not permit it, which is not an error.
func (c *Client) AllChecks(fetch func(page int) (checks []gitprovider.Check, more bool, err error)) ([]gitprovider.Check, bool, error) {
	var all []gitprovider.Check
	for number := 1; number <= maxCheckPages; number++ {
		checks, more, err := fetch(number)
		if err != nil {
			return all, false, Optional(err)
		}
		if all = append(all, checks...); !more {
			return all, true, nil
		}
	}
	return all, false, nil
}

// Checks counts the checks of a pull request. Names and the page come from the provider, so they are sanitised for a status.
func (c *Client) Checks(p gitprovider.PullRequest, all []gitprovider.Check, page string) gitprovider.Checks {
	for i := range all {
		name := strings.TrimSpace(c.clean(all[i].Name))
		if len(name) > maxCheckName {
			name = strings.ToValidUTF8(name[:maxCheckName-3], "") + "..."
		}
		if name == "" {
			name = "unnamed"
		}
		all[i].Name = name
	}
	checks := gitprovider.Tally(p.HeadCommit, all)
	link := strings.HasPrefix(page, "https://") || strings.HasPrefix(page, "http://")
	if checks.State != "" && link && c.clean(page) == page {
		checks.URL = page
	}
	return checks
}
