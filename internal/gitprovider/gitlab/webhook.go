// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitlab

import (
	"encoding/json"
	"net/http"

	"espalier.dev/internal/gitprovider"
)

// ParseWebhook parses a call of a webhook with a secret token, about merge requests or pipelines. GitLab does not sign: it sends the secret
// itself.
func ParseWebhook(header http.Header, body, secret []byte) (gitprovider.Event, error) {
	if !gitprovider.SameSecret(secret, header.Get("X-Gitlab-Token")) {
		return gitprovider.Event{}, gitprovider.ErrUnsigned
	}
	event := header.Get("X-Gitlab-Event")
	if event != "Merge Request Hook" && event != "Pipeline Hook" {
		return gitprovider.Event{}, gitprovider.ErrIgnored
	}
	var payload struct {
		Project struct {
			WebURL string `json:"web_url"`
		} `json:"project"`
		ObjectAttributes struct {
			IID int64  `json:"iid"`
			SHA string `json:"sha"` // of a pipeline
		} `json:"object_attributes"`
		MergeRequest struct {
			IID int64 `json:"iid"`
		} `json:"merge_request"` // of a pipeline; null if it belongs to none
	}
	if json.Unmarshal(body, &payload) != nil {
		return gitprovider.Event{}, gitprovider.ErrUnreadable
	}
	if event == "Pipeline Hook" {
		found, err := gitprovider.NewChecksEvent(payload.Project.WebURL, payload.ObjectAttributes.SHA, Identify)
		found.Number = max(payload.MergeRequest.IID, 0) // a pipeline of the merged result has another commit than the merge request
		return found, err
	}
	return gitprovider.NewEvent(payload.Project.WebURL, payload.ObjectAttributes.IID, Identify)
}
