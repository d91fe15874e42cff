// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package github

import (
	"encoding/json"
	"net/http"
	"strings"

	"espalier.dev/internal/gitprovider"
)

// ParseWebhook reads a call of a webhook with the content type application/json and a secret.
func ParseWebhook(header http.Header, body, secret []byte) (gitprovider.Event, error) {
	signature, ok := strings.CutPrefix(header.Get("X-Hub-Signature-256"), "sha256=")
	if !ok || !gitprovider.SignedBy(secret, body, signature) {
		return gitprovider.Event{}, gitprovider.ErrUnsigned
	}
	if header.Get("X-GitHub-Event") != "pull_request" {
		return gitprovider.Event{}, gitprovider.ErrIgnored
	}
	var payload struct {
		Number     int64 `json:"number"`
		Repository struct {
			HTMLURL string `json:"html_url"`
		} `json:"repository"`
	}
	if json.Unmarshal(body, &payload) != nil {
		return gitprovider.Event{}, gitprovider.ErrUnreadable
	}
	return gitprovider.NewEvent(payload.Repository.HTMLURL, payload.Number, Identify)
}
