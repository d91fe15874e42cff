// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitlab

import (
	"cmp"
	"time"

	"espalier.dev/internal/gitprovider"
)

// mergeRequest holds the fields of GitLab's merge requests that are used.
type mergeRequest struct {
	IID             int64      `json:"iid"`
	WebURL          string     `json:"web_url"`
	State           string     `json:"state"`
	Title           string     `json:"title"`
	Description     string     `json:"description"`
	SourceBranch    string     `json:"source_branch"`
	TargetBranch    string     `json:"target_branch"`
	SourceProjectID int64      `json:"source_project_id"` // null if the fork was deleted
	TargetProjectID int64      `json:"target_project_id"`
	SHA             string     `json:"sha"`
	MergeCommitSHA  string     `json:"merge_commit_sha"`  // null if it was merged by fast-forward
	SquashCommitSHA string     `json:"squash_commit_sha"` // null if it was not squashed
	MergeUser       *user      `json:"merge_user"`
	MergedBy        *user      `json:"merged_by"` // before GitLab 14.7
	MergedAt        *time.Time `json:"merged_at"`
	ClosedBy        *user      `json:"closed_by"`
	ClosedAt        *time.Time `json:"closed_at"`
	CreatedAt       time.Time  `json:"created_at"`
	UpdatedAt       time.Time  `json:"updated_at"`
}

type user struct {
	Username string `json:"username"`
}

func (u *user) name() string {
	if u == nil {
		return ""
	}
	return u.Username
}

func (m *mergeRequest) common() gitprovider.PullRequest {
	result := gitprovider.PullRequest{
		Number:      m.IID,
		URL:         m.WebURL,
		Title:       m.Title,
		Body:        m.Description,
		Head:        m.SourceBranch,
		HeadCommit:  m.SHA,
		Fork:        m.SourceProjectID != m.TargetProjectID,
		Base:        m.TargetBranch,
		CreatedTime: m.CreatedAt,
		UpdatedTime: m.UpdatedAt,
	}
	switch m.State {
	case "opened", "locked": // locked: about to be merged
		result.State = gitprovider.Open
	case "closed":
		result.State, result.ClosedBy, result.ClosedTime = gitprovider.Closed, m.ClosedBy.name(), timeOf(m.ClosedAt)
	case "merged":
		result.State, result.ClosedTime = gitprovider.Merged, timeOf(m.MergedAt)
		result.ClosedBy = cmp.Or(m.MergeUser.name(), m.MergedBy.name())
		result.MergeCommit = cmp.Or(m.MergeCommitSHA, m.SquashCommitSHA, m.SHA)
	}
	return result
}

func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
