// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pullrequest

import (
	"testing"

	"espalier.dev/internal/gitprovider/gitremote"
)

func TestPIP20_ACommitIsOursOnlyIfNothingAboutItIsNot(t *testing.T) {
	us := "Espalier <espalier@espalier.dev>"
	good := gitremote.Commit{Author: us, Committer: us, Parents: []string{"b1"}, Message: "x\n\nPromotion-Key: k\nPromotion-Base: b1\n"}
	for name, change := range map[string]func(*gitremote.Commit){
		"":                  func(*gitremote.Commit) {},
		"another author":    func(c *gitremote.Commit) { c.Author = "Ann <ann@example.com>" },
		"another committer": func(c *gitremote.Commit) { c.Committer = "Ann <ann@example.com>" },
		"put elsewhere":     func(c *gitremote.Commit) { c.Parents = []string{"b2"} },
		"a merge":           func(c *gitremote.Commit) { c.Parents = []string{"b1", "b2"} },
		"no parent":         func(c *gitremote.Commit) { c.Parents = nil },
		"another promotion": func(c *gitremote.Commit) { c.Message = "x\n\nPromotion-Key: other\nPromotion-Base: b1\n" },
		"no trailers":       func(c *gitremote.Commit) { c.Message = "x\n" },
	} {
		commit := good
		change(&commit)
		if got := isOurs(commit, "k"); got != (name == "") {
			t.Errorf("%q: %t", name, got)
		}
	}
}
