// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitea

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"espalier.dev/internal/gitprovider"
)

// ParseWebhook parses a call of a webhook of the type Gitea or Forgejo with a secret, about pull requests or statuses.
func ParseWebhook(header http.Header, body, secret []byte) (gitprovider.Event, error) {
	signature := cmp.Or(header.Get("X-Gitea-Signature"), header.Get("X-Forgejo-Signature"))
	if !gitprovider.SignedBy(secret, body, signature) {
		return gitprovider.Event{}, gitprovider.ErrUnsigned
	}
	event := cmp.Or(header.Get("X-Gitea-Event"), header.Get("X-Forgejo-Event"))
	if !strings.HasPrefix(event, "pull_request") && event != "status" {
		return gitprovider.Event{}, gitprovider.ErrIgnored
	}
	var payload struct {
		Number      int64  `json:"number"`
		SHA         string `json:"sha"` // of a status
		PullRequest struct {
			Number int64 `json:"number"`
		} `json:"pull_request"`
		Repository struct {
			HTMLURL string `json:"html_url"`
		} `json:"repository"`
	}
	if json.Unmarshal(body, &payload) != nil {
		return gitprovider.Event{}, gitprovider.ErrUnreadable
	}
	if event == "status" {
		return gitprovider.NewChecksEvent(payload.Repository.HTMLURL, payload.SHA, Identify)
	}
	return gitprovider.NewEvent(payload.Repository.HTMLURL, cmp.Or(payload.Number, payload.PullRequest.Number), Identify)
}
