// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitlab

import (
	"encoding/json"
	"net/http"

	"espalier.dev/internal/gitprovider"
)

// ParseWebhook reads a call of a webhook with a secret token. GitLab does not sign: it sends the secret itself.
func ParseWebhook(header http.Header, body, secret []byte) (gitprovider.Event, error) {
	if !gitprovider.SameSecret(secret, header.Get("X-Gitlab-Token")) {
		return gitprovider.Event{}, gitprovider.ErrUnsigned
	}
	if header.Get("X-Gitlab-Event") != "Merge Request Hook" {
		return gitprovider.Event{}, gitprovider.ErrIgnored
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
		return gitprovider.Event{}, gitprovider.ErrUnreadable
	}
	return gitprovider.NewEvent(payload.Project.WebURL, payload.ObjectAttributes.IID, Identify)
}
