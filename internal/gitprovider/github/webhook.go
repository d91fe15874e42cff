// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package github

import (
	"encoding/json"
	"net/http"
	"strings"

	"espalier.dev/internal/gitprovider"
)

// ParseWebhook parses a call of a webhook with the content type application/json and a secret, about pull requests, statuses or checks.
func ParseWebhook(header http.Header, body, secret []byte) (gitprovider.Event, error) {
	signature, ok := strings.CutPrefix(header.Get("X-Hub-Signature-256"), "sha256=")
	if !ok || !gitprovider.SignedBy(secret, body, signature) {
		return gitprovider.Event{}, gitprovider.ErrUnsigned
	}
	type head struct {
		SHA string `json:"head_sha"`
	}
	var payload struct {
		Number     int64  `json:"number"`
		SHA        string `json:"sha"`
		CheckRun   head   `json:"check_run"`
		CheckSuite head   `json:"check_suite"`
		Repository struct {
			HTMLURL string `json:"html_url"`
		} `json:"repository"`
	}
	problem := json.Unmarshal(body, &payload)
	commits := map[string]string{"status": payload.SHA, "check_run": payload.CheckRun.SHA, "check_suite": payload.CheckSuite.SHA}
	event := header.Get("X-GitHub-Event")
	commit, ofChecks := commits[event]
	switch {
	case event != "pull_request" && !ofChecks:
		return gitprovider.Event{}, gitprovider.ErrIgnored
	case problem != nil:
		return gitprovider.Event{}, gitprovider.ErrUnreadable
	case ofChecks:
		return gitprovider.NewChecksEvent(payload.Repository.HTMLURL, commit, Identify)
	}
	return gitprovider.NewEvent(payload.Repository.HTMLURL, payload.Number, Identify)
}
