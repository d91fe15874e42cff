// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bitbucket

import (
	"encoding/json"
	"net/http"
	"strings"

	"espalier.dev/internal/gitforge"
)

// ParseWebhook reads a call of a webhook with a secret. Bitbucket does not say which host it is.
func ParseWebhook(header http.Header, body, secret []byte) (gitforge.Event, error) {
	signature, ok := strings.CutPrefix(header.Get("X-Hub-Signature"), "sha256=")
	if !ok || !gitforge.SignedBy(secret, body, signature) {
		return gitforge.Event{}, gitforge.ErrUnsigned
	}
	if !strings.HasPrefix(header.Get("X-Event-Key"), "pr:") {
		return gitforge.Event{}, gitforge.ErrIgnored
	}
	var payload struct {
		PullRequest pull `json:"pullRequest"`
	}
	if json.Unmarshal(body, &payload) != nil {
		return gitforge.Event{}, gitforge.ErrUnreadable
	}
	target := payload.PullRequest.ToRef.Repository
	if payload.PullRequest.ID <= 0 || target.Project.Key == "" || target.Slug == "" {
		return gitforge.Event{}, gitforge.ErrUnreadable
	}
	return gitforge.Event{Repository: gitforge.NewRepository("", target.Project.Key+"/"+target.Slug), Number: payload.PullRequest.ID}, nil
}
