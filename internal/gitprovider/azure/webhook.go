// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"encoding/json"
	"net/http"
	"strings"

	"espalier.dev/internal/gitprovider"
)

// ParseWebhook parses a call of a service hook that sends a user name, and the secret as password. Azure DevOps does not sign.
func ParseWebhook(header http.Header, body, secret []byte) (gitprovider.Event, error) {
	_, password, ok := (&http.Request{Header: header}).BasicAuth()
	if !ok || !gitprovider.SameSecret(secret, password) {
		return gitprovider.Event{}, gitprovider.ErrUnsigned
	}
	var payload struct {
		EventType string          `json:"eventType"`
		Resource  json.RawMessage `json:"resource"`
	}
	if json.Unmarshal(body, &payload) != nil {
		return gitprovider.Event{}, gitprovider.ErrUnreadable
	}
	if !strings.HasPrefix(payload.EventType, "git.pullrequest.") {
		return gitprovider.Event{}, gitprovider.ErrIgnored
	}
	var resource struct {
		PullRequestID int64 `json:"pullRequestId"`
		Repository    struct {
			RemoteURL string `json:"remoteUrl"`
		} `json:"repository"`
	}
	if json.Unmarshal(payload.Resource, &resource) != nil {
		return gitprovider.Event{}, gitprovider.ErrUnreadable
	}
	return gitprovider.NewEvent(resource.Repository.RemoteURL, resource.PullRequestID, Identify)
}
