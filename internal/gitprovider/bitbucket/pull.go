// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bitbucket

import (
	"cmp"
	"strings"
	"time"

	"espalier.dev/internal/gitprovider"
)

const branchPrefix = "refs/heads/"

// pull holds the fields of Bitbucket's pull requests that are used.
type pull struct {
	ID          int64  `json:"id"`
	Version     int64  `json:"version"`
	Title       string `json:"title"`
	Description string `json:"description"`
	State       string `json:"state"`
	CreatedDate millis `json:"createdDate"`
	UpdatedDate millis `json:"updatedDate"`
	ClosedDate  millis `json:"closedDate"`
	FromRef     ref    `json:"fromRef"`
	ToRef       ref    `json:"toRef"`
	Links       struct {
		Self []struct {
			Href string `json:"href"`
		} `json:"self"`
	} `json:"links"`
	Properties struct {
		MergeCommit commit `json:"mergeCommit"`
	} `json:"properties"`
}

// paged is a page of a listing.
type paged struct {
	Values        []pull `json:"values"`
	IsLastPage    bool   `json:"isLastPage"`
	NextPageStart int64  `json:"nextPageStart"`
}

type ref struct {
	ID           string     `json:"id"`
	LatestCommit string     `json:"latestCommit,omitempty"`
	Repository   repository `json:"repository"`
}

type repository struct {
	ID      int64   `json:"id,omitempty"`
	Slug    string  `json:"slug"`
	Project project `json:"project"`
}

type project struct {
	Key string `json:"key"`
}

type commit struct {
	ID string `json:"id"`
}

// newPull is the request to create a pull request.
type newPull struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	FromRef     ref    `json:"fromRef"`
	ToRef       ref    `json:"toRef"`
}

// activity is an activity on a pull request.
type activity struct {
	Action string `json:"action"`
	User   struct {
		Name string `json:"name"`
	} `json:"user"`
	Commit commit `json:"commit"` // of a merge
}

// millis is a time in milliseconds since 1970, or zero.
type millis int64

func (m millis) time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(m))
}

func (l location) ref(branch string) ref {
	return ref{ID: branchPrefix + branch, Repository: repository{Slug: l.slug, Project: project{Key: l.project}}}
}

func (p *pull) common() gitprovider.PullRequest {
	result := gitprovider.PullRequest{
		Number:      p.ID,
		Title:       p.Title,
		Body:        p.Description,
		Head:        strings.TrimPrefix(p.FromRef.ID, branchPrefix),
		HeadCommit:  p.FromRef.LatestCommit,
		Fork:        p.FromRef.Repository.ID != p.ToRef.Repository.ID,
		Base:        strings.TrimPrefix(p.ToRef.ID, branchPrefix),
		MergeCommit: p.Properties.MergeCommit.ID,
		CreatedTime: p.CreatedDate.time(),
		UpdatedTime: p.UpdatedDate.time(),
		ClosedTime:  p.ClosedDate.time(),
	}
	if len(p.Links.Self) > 0 {
		result.URL = p.Links.Self[0].Href
	}
	switch p.State {
	case "OPEN":
		result.State = gitprovider.Open
	case "MERGED":
		result.State = gitprovider.Merged
	case "DECLINED":
		result.State = gitprovider.Closed
	}
	return result
}

func (a activity) addTo(p gitprovider.PullRequest) gitprovider.PullRequest {
	p.ClosedBy = a.User.Name
	if p.State == gitprovider.Merged {
		p.MergeCommit = cmp.Or(p.MergeCommit, a.Commit.ID)
	}
	return p
}
