// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"reflect"
	"strings"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// checksOf returns the checks to record for a pull request: those of its head commit, as long as it is open. If they are unknown now, for
// example after a restart, the recorded ones are kept. No decision depends on them.
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

// worthTelling reports whether the checks have changed enough to be written. Running checks change often: until they finish, only a
// new overall state, or progress by a quarter, is written.
func worthTelling(before, now pipelines.PullRequestChecks) bool {
	if now.Running == 0 || before.Running == 0 {
		return !reflect.DeepEqual(before, now)
	}
	step := max(1, now.Total/4)
	far := func(was, is int32) bool { return is-was >= step || was-is >= step }
	return before.State != now.State || before.URL != now.URL || len(before.FailedNames) != len(now.FailedNames) ||
		far(before.Total, now.Total) || far(before.Passed, now.Passed) || far(before.Failed, now.Failed)
}

// checksInWords summarizes the checks of a pull request; empty if it has none.
func checksInWords(request *pipelines.PullRequestStatus) string {
	if request == nil || request.Checks == nil {
		return ""
	}
	switch c := request.Checks; c.State {
	case pipelines.ChecksFailed:
		words := "its checks failed"
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
		return "its checks passed"
	}
	return ""
}
