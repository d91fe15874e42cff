// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"espalier.dev/internal/gitprovider"
)

const branchPrefix = "refs/heads/"

// pull holds the fields of Azure DevOps' pull requests that are used.
type pull struct {
	PullRequestID         int64      `json:"pullRequestId"`
	Status                string     `json:"status"`
	Title                 string     `json:"title"`
	Description           string     `json:"description"`
	SourceRefName         string     `json:"sourceRefName"`
	TargetRefName         string     `json:"targetRefName"`
	LastMergeSourceCommit commit     `json:"lastMergeSourceCommit"`
	LastMergeCommit       commit     `json:"lastMergeCommit"`
	ForkSource            *struct{}  `json:"forkSource"`
	ClosedBy              identity   `json:"closedBy"`
	ClosedDate            *time.Time `json:"closedDate"`
	CreationDate          time.Time  `json:"creationDate"`
	Repository            repository `json:"repository"`
}

type repository struct {
	Project struct {
		ID string `json:"id"`
	} `json:"project"`
}

type commit struct {
	CommitID string `json:"commitId"`
}

type identity struct {
	UniqueName string `json:"uniqueName"`
}

func (p *pull) common(where location) gitprovider.PullRequest {
	result := gitprovider.PullRequest{
		Number:      p.PullRequestID,
		URL:         where.projectURL() + "/_git/" + url.PathEscape(where.name) + "/pullrequest/" + strconv.FormatInt(p.PullRequestID, 10),
		Title:       p.Title,
		Body:        p.Description,
		Head:        strings.TrimPrefix(p.SourceRefName, branchPrefix),
		HeadCommit:  p.LastMergeSourceCommit.CommitID,
		Fork:        p.ForkSource != nil,
		Base:        strings.TrimPrefix(p.TargetRefName, branchPrefix),
		MergeCommit: p.LastMergeCommit.CommitID, // of an attempted merge, as long as it is not completed
		ClosedBy:    p.ClosedBy.UniqueName,
		CreatedTime: p.CreationDate,
	}
	if p.ClosedDate != nil {
		result.ClosedTime = *p.ClosedDate
	}
	switch p.Status {
	case "active":
		result.State = gitprovider.Open
	case "completed":
		result.State = gitprovider.Merged
	case "abandoned":
		result.State = gitprovider.Closed
	}
	return result
}
