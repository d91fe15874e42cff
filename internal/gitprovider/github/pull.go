// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package github

import (
	"time"

	"espalier.dev/internal/gitprovider"
)

// pull holds the fields of GitHub's pull requests that are used.
type pull struct {
	Number         int64      `json:"number"`
	HTMLURL        string     `json:"html_url"`
	State          string     `json:"state"`
	Title          string     `json:"title"`
	Body           string     `json:"body"`
	Head           branch     `json:"head"`
	Base           branch     `json:"base"`
	MergedAt       *time.Time `json:"merged_at"`
	MergeCommitSHA string     `json:"merge_commit_sha"`
	MergedBy       *user      `json:"merged_by"`
	ClosedAt       *time.Time `json:"closed_at"`
	CreatedAt      time.Time  `json:"created_at"`
	UpdatedAt      time.Time  `json:"updated_at"`
}

type branch struct {
	Ref  string `json:"ref"`
	SHA  string `json:"sha"`
	Repo *struct {
		ID int64 `json:"id"`
	} `json:"repo"` // null if the fork was deleted
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
		Head:        p.Head.Ref,
		HeadCommit:  p.Head.SHA,
		Fork:        p.Head.Repo == nil || p.Base.Repo == nil || p.Head.Repo.ID != p.Base.Repo.ID,
		Base:        p.Base.Ref,
		MergeCommit: p.MergeCommitSHA, // of an attempted merge, as long as it is not merged
		ClosedBy:    p.MergedBy.name(),
		CreatedTime: p.CreatedAt,
		UpdatedTime: p.UpdatedAt,
	}
	if p.ClosedAt != nil {
		result.ClosedTime = *p.ClosedAt
	}
	switch {
	case p.MergedAt != nil:
		result.State, result.ClosedTime = gitprovider.Merged, *p.MergedAt
	case p.State == "open":
		result.State = gitprovider.Open
	case p.State == "closed":
		result.State = gitprovider.Closed
	}
	return result
}
