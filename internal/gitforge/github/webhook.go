// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package github

import (
	"encoding/json"
	"net/http"
	"strings"

	"espalier.dev/internal/gitforge"
)

// ParseWebhook reads a call of a webhook with the content type application/json and a secret.
func ParseWebhook(header http.Header, body, secret []byte) (gitforge.Event, error) {
	signature, ok := strings.CutPrefix(header.Get("X-Hub-Signature-256"), "sha256=")
	if !ok || !gitforge.SignedBy(secret, body, signature) {
		return gitforge.Event{}, gitforge.ErrUnsigned
	}
	if header.Get("X-GitHub-Event") != "pull_request" {
		return gitforge.Event{}, gitforge.ErrIgnored
	}
	var payload struct {
		Number     int64 `json:"number"`
		Repository struct {
			HTMLURL string `json:"html_url"`
		} `json:"repository"`
	}
	if json.Unmarshal(body, &payload) != nil {
		return gitforge.Event{}, gitforge.ErrUnreadable
	}
	return gitforge.NewEvent(payload.Repository.HTMLURL, payload.Number, Identify)
}
