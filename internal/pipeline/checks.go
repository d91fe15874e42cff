// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"strings"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// checksOf are the checks to record of a pull request: those of its head commit, as long as it is open. What is not known now, after a
// restart for example, is kept. Nothing is decided by them.
func checksOf(status pipelines.PullRequestStatus, request PullRequest) *pipelines.PullRequestChecks {
	before, now := status.Checks, request.Checks
	if before != nil && before.Commit != status.HeadCommit {
		before = nil
	}
	switch {
	case status.State != pipelines.PullRequestOpen:
		return nil
	case now == nil:
		return before
	case now.State == "" || now.Commit != status.HeadCommit:
		return nil
	case before != nil && !worthTelling(*before, *now):
		return before
	}
	return now.DeepCopy()
}

// worthTelling reports whether other checks are written. While some are running, their counts change all the time: then every quarter of
// the way is enough.
func worthTelling(before, now pipelines.PullRequestChecks) bool {
	if before.State != now.State || before.Total != now.Total || before.Failed != now.Failed || before.URL != now.URL ||
		(before.Running == 0) != (now.Running == 0) {
		return true
	}
	step := max(1, now.Total/4)
	return now.Running == 0 && before.Passed != now.Passed || now.Passed-before.Passed >= step || before.Passed-now.Passed >= step ||
		strings.Join(before.FailedNames, "\n") != strings.Join(now.FailedNames, "\n")
}

// checksInWords says how the checks of a pull request are doing; nothing if there are none.
func checksInWords(request *pipelines.PullRequestStatus) string {
	if request == nil || request.Checks == nil {
		return ""
	}
	switch c := request.Checks; c.State {
	case pipelines.ChecksFailed:
		words := "its checks have failed"
		if len(c.FailedNames) > 0 {
			words += ": " + strings.Join(c.FailedNames, ", ")
		}
		if others := int(c.Failed) - len(c.FailedNames); others > 0 && len(c.FailedNames) > 0 {
			words += fmt.Sprintf(" and %d more", others)
		}
		return words
	case pipelines.ChecksRunning:
		return "its checks are running"
	case pipelines.ChecksPassed:
		return "its checks have passed"
	}
	return ""
}
