// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
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
	if len(o.Status.Environments) == 0 && starting(o) {
		return []Explanation{{Message: "the targets have not been looked at yet"}}
	}
	d := advance(o)
	var lines []Explanation
	for _, hold := range d.status().Holds {
		if hold.Environment == "" {
			lines = append(lines, explainHold(hold))
		}
	}
	for _, s := range d.steps {
		lines = append(lines, d.explain(s)...)
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

func (d *draft) explain(s step) []Explanation {
	var lines []Explanation
	for _, hold := range d.status().Holds {
		if hold.Environment == s.name() {
			lines = append(lines, explainHold(hold))
		}
	}
	if len(lines) > 0 {
		return lines
	}
	line := Explanation{Environment: s.name()}
	p := d.environment(s.name()).Promotion
	switch {
	case s.verdict == verdictSource:
		line.Message = fmt.Sprintf("all targets are healthy at revision %s, which goes through the pipeline as run %d", s.revision, d.status().Run.Number)
	case s.verdict == verdictReached:
		line.Message = fmt.Sprintf("all targets are healthy at revision %s", s.revision)
	case s.verdict == verdictNeeded && p != nil:
		line.Message = fmt.Sprintf("revision %s is being promoted by %s, attempt %d", p.Revision, p.Strategy, p.Attempts)
		line.Since = p.StartTime.Time
	case s.revision == "":
		line.Message = "no revision is on its way yet"
	default:
		line.Message = fmt.Sprintf("revision %s has not got this far", s.revision)
	}
	if healthy := d.environment(s.name()).Healthy; healthy != nil && healthy.Revision == s.revision {
		line.Since = healthy.Since.Time
	}
	return []Explanation{line}
}

// Remedy says what ends a hold, for people.
func Remedy(reason pipelines.HoldReason) string { return remedies[reason] }

var remedies = map[pipelines.HoldReason]string{
	pipelines.HoldSuspended:             "set `spec.suspend` to false",
	pipelines.HoldUnsettled:             "find out why the targets of the first environment are not healthy at one revision",
	pipelines.HoldTargetNotReadable:     "mend the cluster, the reference or the permission that the message names",
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
	pipelines.HoldReferenceNotPermitted: "create the ReferenceGrant that the message names, in the other namespace",
	pipelines.HoldNeverDeployed:         "deploy the application once, or set `firstRelease` of the environment",
	pipelines.HoldInvalid:               "correct the field that the message names",
	pipelines.HoldWithdrawing:           "nothing; after some attempts the pull request is left to people, and an Event names it",
	pipelines.HoldLookingUp:             "nothing, unless the Git server does not answer",
}
