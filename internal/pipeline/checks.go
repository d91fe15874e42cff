// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"reflect"
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

// worthTelling reports whether other checks are written. While some are running, they change all the time: then what they come to, and a
// quarter more or less of them, is enough.
func worthTelling(before, now pipelines.PullRequestChecks) bool {
	if now.Running == 0 || before.Running == 0 {
		return !reflect.DeepEqual(before, now)
	}
	step := max(1, now.Total/4)
	far := func(was, is int32) bool { return is-was >= step || was-is >= step }
	return before.State != now.State || before.URL != now.URL || len(before.FailedNames) != len(now.FailedNames) ||
		far(before.Total, now.Total) || far(before.Passed, now.Passed) || far(before.Failed, now.Failed)
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
