// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"slices"
	"time"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// Explanation is one line of the answer to why a revision is where it is.
type Explanation struct {
	// Environment that it is about; empty for the whole pipeline.
	Environment string
	// Reason of the hold; empty if nothing is held.
	Reason pipelines.HoldReason
	// Message is a sentence.
	Message string
	// Since is when it began, Until when it ends by itself; zero if there is no such time.
	Since, Until time.Time
	// Remedy is what can be done about it; empty if nothing has to be.
	Remedy string
}

// Why explains to people what is going on, from the first environment to the last. It comes from the same plan that the
// controller follows.
func Why(o Observed) []Explanation {
	if len(o.Status.Environments) == 0 && starting(o) && !o.Deleted {
		return []Explanation{{Message: "the targets have not been looked at yet"}}
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

// explainDeletion says what a pipeline that is being deleted still waits for.
func explainDeletion(holds []pipelines.Hold) []Explanation {
	var lines []Explanation
	for _, hold := range holds {
		lines = append(lines, explainHold(hold))
	}
	if len(lines) == 0 {
		return []Explanation{
			{Message: "the pipeline is being deleted and waits for none of its pull requests; see metadata.finalizers for who else keeps it"},
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
		line.Message = "no revision is on its way yet"
	default:
		line.Message = fmt.Sprintf("revision %s has not got this far", s.revision)
	}
	if r.Healthy != nil && r.Healthy.Revision == s.revision {
		line.Since = r.Healthy.Since.Time
	}
	return []Explanation{line}
}

// going says as which run the revision of the first environment goes through the pipeline, if it does.
func going(s step, run *pipelines.Run) string {
	if s.verdict != verdictSource || run == nil {
		return ""
	}
	return fmt.Sprintf(", which goes through the pipeline as run %d", run.Number)
}

// Remedy says what ends a hold, for people.
func Remedy(reason pipelines.HoldReason) string { return remedies[reason] }

var remedies = map[pipelines.HoldReason]string{
	pipelines.HoldSuspended:             "set `spec.suspend` to false",
	pipelines.HoldUnsettled:             "find out why the targets of the first environment are not healthy at one revision",
	pipelines.HoldTargetNotReadable:     "fix the cluster, the reference or the permission that the message names",
	pipelines.HoldRollingOut:            "nothing, unless the targets that the message names do not become healthy",
	pipelines.HoldSoaking:               "wait, or `espalier promote`",
	pipelines.HoldOutsideWindow:         "wait, or `espalier promote`",
	pipelines.HoldWaitingForApproval:    "`espalier approve` or `espalier reject`",
	pipelines.HoldWaitingForMerge:       "merge or close the pull request",
	pipelines.HoldRetrying:              "wait, or `espalier retry`",
	pipelines.HoldFailed:                "correct what the message names; a change of the pipeline, its Secret or the repository starts another attempt, and so does `espalier retry`",
	pipelines.HoldAbandoned:             "`espalier retry`, or another revision",
	pipelines.HoldRejected:              "`espalier retry`, or another revision",
	pipelines.HoldRolledBack:            "`espalier retry`, or another revision",
	pipelines.HoldStalled:               "find out why the targets do not follow; then `espalier retry`, or another revision",
	pipelines.HoldNoStrategy:            "set a strategy, if something is to be promoted",
	pipelines.HoldNoTargets:             "give the environment targets",
	pipelines.HoldHeld:                  "`espalier hold --release`",
	pipelines.HoldInvalid:               "correct the field that the message names",
	pipelines.HoldWithdrawing:           "nothing; after some attempts the pull request is left to people, and an Event names it. A pipeline that is being deleted goes at once with the annotation `" + KeepPullRequestsAnnotation + ": \"true\"`",
	pipelines.HoldLeftOpen:              "close the pull request at the Git server",
	pipelines.HoldLookingUp:             "nothing, unless the Git server does not answer",
	pipelines.HoldReferenceNotPermitted: "create the ReferenceGrant that the message names, in the other namespace",
	pipelines.HoldNeverDeployed:         "deploy the application once, or set `firstRelease` of the environment",
}
