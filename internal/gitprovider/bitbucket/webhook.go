// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bitbucket

import (
	"encoding/json"
	"net/http"
	"strings"

	"espalier.dev/internal/gitprovider"
)

// ParseWebhook parses a call of a webhook with a secret. Bitbucket does not send its host name.
func ParseWebhook(header http.Header, body, secret []byte) (gitprovider.Event, error) {
	signature, ok := strings.CutPrefix(header.Get("X-Hub-Signature"), "sha256=")
	if !ok || !gitprovider.SignedBy(secret, body, signature) {
		return gitprovider.Event{}, gitprovider.ErrUnsigned
	}
	if !strings.HasPrefix(header.Get("X-Event-Key"), "pr:") {
		return gitprovider.Event{}, gitprovider.ErrIgnored
	}
	var payload struct {
		PullRequest pull `json:"pullRequest"`
	}
	if json.Unmarshal(body, &payload) != nil {
		return gitprovider.Event{}, gitprovider.ErrUnreadable
	}
	target := payload.PullRequest.ToRef.Repository
	if payload.PullRequest.ID <= 0 || target.Project.Key == "" || target.Slug == "" {
		return gitprovider.Event{}, gitprovider.ErrUnreadable
	}
	return gitprovider.Event{
		Repository: gitprovider.NewRepository("", target.Project.Key+"/"+target.Slug),
		Number:     payload.PullRequest.ID,
	}, nil
}
