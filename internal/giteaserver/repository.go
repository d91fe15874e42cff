// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package giteaserver

import (
	"context"
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
)

// CreateRepository creates an empty private repository of the user who logs in.
func (s *Server) CreateRepository(ctx context.Context, login Login, name string) error {
	body := map[string]any{"name": name, "private": true, "default_branch": "main"}
	return s.Call(ctx, login, Request{Method: http.MethodPost, Path: "/user/repos", Body: body})
}

// Commit is a change of files in a repository.
type Commit struct {
	Owner, Repository string
	Branch            string
	NewBranch         string // if set, the commit starts this branch at the head of Branch
	Message           string
	Files             map[string]string // content by path
}

// Commit creates a commit and returns its SHA. The first one in a repository creates its branch.
func (s *Server) Commit(ctx context.Context, login Login, commit Commit) (string, error) {
	var changes []map[string]string
	for _, path := range slices.Sorted(maps.Keys(commit.Files)) {
		content := base64.StdEncoding.EncodeToString([]byte(commit.Files[path]))
		changes = append(changes, map[string]string{"operation": "upload", "path": path, "content": content})
	}
	body := map[string]any{"branch": commit.Branch, "message": commit.Message, "files": changes}
	if commit.NewBranch != "" {
		body["new_branch"] = commit.NewBranch
	}
	var answer struct {
		Commit struct {
			SHA string `json:"sha"`
		} `json:"commit"`
	}
	path := "/repos/" + commit.Owner + "/" + commit.Repository + "/contents"
	err := s.Call(ctx, login, Request{Method: http.MethodPost, Path: path, Body: body, Into: &answer})
	return answer.Commit.SHA, err
}
