// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"slices"
	"time"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// Explanation is one line of the explanation of a pipeline's state.
type Explanation struct {
	// Environment is the environment of the line; empty for the whole pipeline.
	Environment string
	// Reason is the reason of the hold; empty if nothing is held.
	Reason pipelines.HoldReason
	// Message is a sentence.
	Message string
	// Since is when it started, Until when it ends without a user; zero if there is no such time.
	Since, Until time.Time
	// Remedy is what to do; empty if no action is needed.
	Remedy string
}

// Why explains the state of each environment, from the first to the last. It uses the same plan as the controller.
func Why(o Observed) []Explanation {
	if len(o.Status.Environments) == 0 && starting(o) && !o.Deleted {
		return []Explanation{{Message: "the targets have not been checked yet"}}
	}
	next := advance(o)
	if o.Deleted {
		return explainDeletion(next.status.Holds)
	}
	var lines []Explanation
	for _, hold := range next.status.Holds {
		if hold.Environment == "" {
			lines = append(lines, explainHold(hold))
		}
	}
	for _, s := range next.facts.steps {
		lines = append(lines, explain(next, s)...)
	}
	for _, hold := range next.status.Holds {
		gone := !slices.ContainsFunc(next.facts.steps, func(s step) bool { return s.name() == hold.Environment })
		if hold.Environment != "" && gone {
			lines = append(lines, explainHold(hold))
		}
	}
	return lines
}

// explainDeletion returns what a pipeline that is being deleted still waits for.
func explainDeletion(holds []pipelines.Hold) []Explanation {
	var lines []Explanation
	for _, hold := range holds {
		lines = append(lines, explainHold(hold))
	}
	if len(lines) == 0 {
		return []Explanation{
			{Message: "the pipeline is being deleted and waits for no pull requests; metadata.finalizers shows what else keeps it"},
		}
	}
	return lines
}

func explainHold(hold pipelines.Hold) Explanation {
	line := Explanation{
		Environment: hold.Environment, Reason: hold.Reason, Message: hold.Message, Since: hold.Since.Time, Remedy: Remedy(hold.Reason),
	}
	if hold.Until != nil {
		line.Until = hold.Until.Time
	}
	return line
}

func explain(next outcome, s step) []Explanation {
	var lines []Explanation
	for _, hold := range next.status.Holds {
		if hold.Environment == s.name() {
			lines = append(lines, explainHold(hold))
		}
	}
	if len(lines) > 0 {
		return lines
	}
	line := Explanation{Environment: s.name()}
	r := next.of(s.name())
	switch {
	case s.verdict == verdictSource, s.verdict == verdictReached:
		line.Message = "all targets are healthy at revision " + s.revision + going(s, next.status.Run)
	case s.verdict == verdictNeeded && r.Promotion != nil:
		p := r.Promotion
		line.Message = fmt.Sprintf("revision %s is being promoted by %s, attempt %d", p.Revision, p.Strategy, p.Attempts)
		line.Since = p.StartTime.Time
	case s.revision == "":
		line.Message = "no revision in progress yet"
	default:
		line.Message = fmt.Sprintf("revision %s has not reached this environment yet", s.revision)
	}
	if r.Healthy != nil && r.Healthy.Revision == s.revision {
		line.Since = r.Healthy.Since.Time
	}
	return []Explanation{line}
}

// going names the current run of the first environment's revision, if there is one.
func going(s step, run *pipelines.Run) string {
	if s.verdict != verdictSource || run == nil {
		return ""
	}
	return fmt.Sprintf(", run %d of the pipeline", run.Number)
}

// Remedy returns what a user can do to end a hold.
func Remedy(reason pipelines.HoldReason) string { return remedies[reason] }

var remedies = map[pipelines.HoldReason]string{
	pipelines.HoldSuspended:             "`espalier resume`, or set `spec.suspend` to false",
	pipelines.HoldUnsettled:             "find out why the targets of the first environment are not healthy at one revision",
	pipelines.HoldTargetNotReadable:     "fix the cluster, the reference or the permission named in the message",
	pipelines.HoldRollingOut:            "wait; act only if the targets in the message do not become healthy",
	pipelines.HoldSoaking:               "wait, or `espalier promote`",
	pipelines.HoldOutsideWindow:         "wait, or `espalier promote`",
	pipelines.HoldWaitingForApproval:    "`espalier approve` or `espalier reject`",
	pipelines.HoldWaitingForMerge:       "merge or close the pull request",
	pipelines.HoldRetrying:              "wait, or `espalier retry`",
	pipelines.HoldFailed:                "fix what the message names; changing the pipeline, its Secret or the repository starts another attempt, and so does `espalier retry`",
	pipelines.HoldAbandoned:             "`espalier retry`, or another revision",
	pipelines.HoldRejected:              "`espalier retry`, or another revision",
	pipelines.HoldRolledBack:            "`espalier retry`, or another revision",
	pipelines.HoldStalled:               "find out why the targets do not take the revision; then `espalier retry`, or another revision",
	pipelines.HoldNoStrategy:            "set a strategy to promote to this environment",
	pipelines.HoldNoTargets:             "add targets to the environment",
	pipelines.HoldHeld:                  "`espalier hold --release`",
	pipelines.HoldInvalid:               "correct the field named in the message",
	pipelines.HoldWithdrawing:           "wait; after some attempts the pull request stays open, and an Event names it. To delete a pipeline without closing its pull requests, set the annotation `" + KeepPullRequestsAnnotation + ": \"true\"`",
	pipelines.HoldLeftOpen:              "close the pull request at the Git server",
	pipelines.HoldLookingUp:             "wait; act only if the Git server does not answer",
	pipelines.HoldReferenceNotPermitted: "create the ReferenceGrant named in the message, in the other namespace",
	pipelines.HoldNeverDeployed:         "deploy the application once, or set `firstRelease` of the environment",
}
