// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitlab

import (
	"encoding/json"
	"net/http"

	"espalier.dev/internal/gitforge"
)

// ParseWebhook reads a call of a webhook with a secret token. GitLab does not sign: it sends the secret itself.
func ParseWebhook(header http.Header, body, secret []byte) (gitforge.Event, error) {
	if !gitforge.SameSecret(secret, header.Get("X-Gitlab-Token")) {
		return gitforge.Event{}, gitforge.ErrUnsigned
	}
	if header.Get("X-Gitlab-Event") != "Merge Request Hook" {
		return gitforge.Event{}, gitforge.ErrIgnored
	}
	var payload struct {
		Project struct {
			WebURL string `json:"web_url"`
		} `json:"project"`
		ObjectAttributes struct {
			IID int64 `json:"iid"`
		} `json:"object_attributes"`
	}
	if json.Unmarshal(body, &payload) != nil {
		return gitforge.Event{}, gitforge.ErrUnreadable
	}
	return gitforge.NewEvent(payload.Project.WebURL, payload.ObjectAttributes.IID, Identify)
}
