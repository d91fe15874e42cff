// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitea

import (
	"time"

	"espalier.dev/internal/gitprovider"
)

// pull holds the fields of Gitea's pull requests that are used.
type pull struct {
	Number         int64      `json:"number"`
	HTMLURL        string     `json:"html_url"`
	State          string     `json:"state"`
	Title          string     `json:"title"`
	Body           string     `json:"body"`
	Head           branch     `json:"head"`
	Base           branch     `json:"base"`
	Merged         bool       `json:"merged"`
	MergedAt       *time.Time `json:"merged_at"`
	MergeCommitSHA string     `json:"merge_commit_sha"`
	MergedBy       *user      `json:"merged_by"`
	ClosedAt       *time.Time `json:"closed_at"`
	CreatedAt      time.Time  `json:"created_at"`
	UpdatedAt      time.Time  `json:"updated_at"`
}

type branch struct {
	// Label is the name of the branch, even after its deletion, when Ref becomes refs/pull/N/head.
	Label  string `json:"label"`
	SHA    string `json:"sha"`
	RepoID int64  `json:"repo_id"`
}

type user struct {
	Login string `json:"login"`
}

func (u *user) name() string {
	if u == nil {
		return ""
	}
	return u.Login
}

func (p *pull) common() gitprovider.PullRequest {
	result := gitprovider.PullRequest{
		Number:      p.Number,
		URL:         p.HTMLURL,
		Title:       p.Title,
		Body:        p.Body,
		Head:        p.Head.Label,
		HeadCommit:  p.Head.SHA,
		Fork:        p.Head.RepoID != p.Base.RepoID,
		Base:        p.Base.Label,
		MergeCommit: p.MergeCommitSHA,
		ClosedBy:    p.MergedBy.name(),
		CreatedTime: p.CreatedAt,
		UpdatedTime: p.UpdatedAt,
	}
	if p.ClosedAt != nil {
		result.ClosedTime = *p.ClosedAt
	}
	switch {
	case p.Merged:
		result.State = gitprovider.Merged
		if p.MergedAt != nil {
			result.ClosedTime = *p.MergedAt
		}
	case p.State == "open":
		result.State = gitprovider.Open
	case p.State == "closed":
		result.State = gitprovider.Closed
	}
	return result
}
