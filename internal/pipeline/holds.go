// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// held is a gate at an environment, with the revision that waits there.
type held struct {
	environment, revision string
	gate
}

// waits returns what revisions wait for, in the order of the environments.
func waits(f facts, closed []barrier, l ledger) []held {
	var all []held
	if len(f.views) == 0 {
		all = append(all, held{gate: gate{reason: pipelines.HoldNoTargets, message: "the pipeline has no environments"}})
	}
	for _, s := range f.steps {
		all = append(all, waitsAt(f, s, closed[s.index], l.of(s.name()))...)
	}
	for _, v := range f.views {
		if f.blind && v.seen.ListingPending {
			all = append(all, held{v.name(), "", gate{reason: pipelines.HoldLookingUp, message: unlisted(v)}})
		}
	}
	return append(all, withdrawals(l, all)...)
}

// withdrawals returns the pull requests that are being closed, including those of environments that were removed or where nothing else
// waits.
func withdrawals(l ledger, said []held) []held {
	var all []held
	for _, r := range l.records {
		already := slices.ContainsFunc(said, func(h held) bool { return h.environment == r.name && h.reason == pipelines.HoldWithdrawing })
		if r.Withdrawal != nil && !already {
			all = append(all, held{r.name, r.Withdrawal.Revision, withdrawing(r.Withdrawal)})
		}
	}
	return all
}

// holds returns the holds of the status, without duplicates. Existing holds keep their start time.
func holds(f facts, waits []held) []pipelines.Hold {
	var all []pipelines.Hold
	for _, w := range waits {
		hold := holdOf(w, f.now)
		same := func(h pipelines.Hold) bool {
			return h.Environment == hold.Environment && h.Reason == hold.Reason && h.Message == hold.Message
		}
		if slices.ContainsFunc(all, same) {
			continue
		}
		i := slices.IndexFunc(f.Status.Holds, func(b pipelines.Hold) bool {
			return b.Environment == hold.Environment && b.Reason == hold.Reason && b.Revision == hold.Revision
		})
		if i >= 0 {
			hold.Since = f.Status.Holds[i].Since
		}
		all = append(all, hold)
	}
	return all
}

func holdOf(w held, now metav1.Time) pipelines.Hold {
	hold := pipelines.Hold{
		Environment: w.environment, Reason: w.reason, Message: shorten(w.message, maxMessage), Revision: w.revision, Since: now,
	}
	if w.whole {
		hold.Environment, hold.Revision = "", ""
	}
	if !w.until.IsZero() {
		until := seconds(w.until)
		hold.Until = &until
	}
	return hold
}

// waitsAt returns what one environment waits for: what the walk found, or the promotion to it.
func waitsAt(f facts, s step, closed barrier, r record) []held {
	p := r.Promotion
	if s.duplicate {
		return []held{{s.name(), s.revision, gate{
			reason:  pipelines.HoldInvalid,
			message: fmt.Sprintf("two environments are called %s: give each a unique name", s.name()),
		}}}
	}
	if g, waits := walkHold(s); waits && !brokenHere(s, p) {
		return []held{{s.name(), s.revision, g}}
	}
	var all []held
	if s.verdict == verdictNeeded {
		needed, complete := waitsForNeeded(f, s, closed, r)
		for _, g := range needed {
			all = append(all, held{s.name(), s.revision, g})
		}
		if complete {
			return all
		}
	}
	if p != nil && s.index > 0 && s.verdict != verdictReached {
		if g, waits := recordHold(f, s, closed, r); waits {
			all = append(all, held{s.name(), p.Revision, g})
		}
	}
	return all
}

// brokenHere reports whether the rollout of the revision takes too long and must be reported.
func brokenHere(s step, p *pipelines.PromotionStatus) bool {
	return s.verdict == verdictRollingOut && isFor(p, s.revision, s.run) && p.State == pipelines.PromotionStalled
}

// waitsForNeeded returns what keeps a needed promotion from being recorded or started. It also returns whether the result is complete.
func waitsForNeeded(f facts, s step, closed barrier, r record) ([]gate, bool) {
	p := r.Promotion
	if !isFor(p, s.revision, s.run) || p.State == pipelines.PromotionSuperseded {
		if outstanding(f.Attempts, r) {
			return nil, false
		}
		return []gate{unplannedHold(r)}, true
	}
	switch p.State {
	case pipelines.PromotionUnattempted:
		if len(closed.gates) == 0 && busy(f.Attempts, s.name()) {
			return []gate{{reason: pipelines.HoldWithdrawing, message: "an attempt for an older promotion is still running"}}, true
		}
		return closed.gates, true
	case pipelines.PromotionUnapproved, pipelines.PromotionFailed:
		return closed.stops, false
	case pipelines.PromotionAttempting:
		return closed.stops, true
	}
	return nil, false
}

// walkHold returns the hold that depends only on the walk.
func walkHold(s step) (gate, bool) {
	switch s.verdict {
	case verdictUnsettled:
		return firstHold(s), true
	case verdictUnreadable:
		return unreadableGate(s.view), true
	case verdictNeverDeployed:
		return gate{reason: pipelines.HoldNeverDeployed, message: undeployed(s.view)}, true
	case verdictNoTargets:
		return gate{reason: pipelines.HoldNoTargets, message: "environment " + s.name() + " has no targets"}, true
	case verdictRollingOut:
		return gate{reason: pipelines.HoldRollingOut, message: s.laggards(s.revision)}, true
	}
	return gate{}, false
}

// firstHold returns why the first environment has not settled.
func firstHold(s step) gate {
	switch {
	case len(s.seen.Targets) == 0:
		return gate{reason: pipelines.HoldNoTargets, message: "environment " + s.name() + " has no targets"}
	case !s.readable():
		return unreadableGate(s.view)
	}
	return gate{reason: pipelines.HoldUnsettled, message: "the targets are not all healthy at one revision: " + s.laggards("")}
}

// unplannedHold returns why a needed promotion has no record.
func unplannedHold(r record) gate {
	if r.Withdrawal != nil {
		return withdrawing(r.Withdrawal)
	}
	return gate{
		reason:  pipelines.HoldNoStrategy,
		message: fmt.Sprintf("environment %s has no promotion strategy: set one in its promotion, or in spec.promotion", r.name),
	}
}

// recordHold returns what a recorded promotion waits for.
func recordHold(f facts, s step, closed barrier, r record) (gate, bool) {
	p := r.Promotion
	switch p.State {
	case pipelines.PromotionUnapproved:
		return approvalHold(f, s, r), true
	case pipelines.PromotionCreated:
		return gate{reason: pipelines.HoldWaitingForMerge, message: mergeMessage(f, s, r)}, true
	case pipelines.PromotionFailed:
		return failedHold(p, retriedAt(f, s, r, closed)), true
	case pipelines.PromotionAbandoned:
		return gate{reason: pipelines.HoldAbandoned, message: fmt.Sprintf(
			"pull request %s was closed without merging%s: retry, or wait for another revision", urlOf(p), by(closerOf(p)))}, true
	case pipelines.PromotionRejected:
		return gate{reason: pipelines.HoldRejected, message: sentence(fmt.Sprintf(
			"revision %s was rejected%s; retry, or wait for another revision", p.Revision, by(decider(p))), rejection(p))}, true
	case pipelines.PromotionSucceeded:
		return gate{reason: pipelines.HoldRollingOut, message: fmt.Sprintf(
			"revision %s was promoted but is not running yet: %s", p.Revision, s.laggards(p.Revision))}, true
	case pipelines.PromotionStalled, pipelines.PromotionRolledBack:
		return brokenHold(p), true
	}
	return gate{}, false
}

func approvalHold(f facts, s step, r record) gate {
	p := r.Promotion
	message := fmt.Sprintf("revision %s needs approval for environment %s", p.Revision, r.name)
	if votes := VotesFor(f.promotion(s.view), p); votes.named() {
		message = fmt.Sprintf("revision %s for environment %s has %s", p.Revision, r.name, votes.Told())
	}
	if p.Downgrade {
		message += ", which is a downgrade"
	}
	return gate{reason: pipelines.HoldWaitingForApproval, message: message}
}

// failedHold returns why an attempt failed. next is when it is repeated; zero if that is not known.
func failedHold(p *pipelines.PromotionStatus, next time.Time) gate {
	var message string
	if p.Error != nil {
		message = p.Error.Message
	}
	if p.Error != nil && p.Error.Permanent {
		return gate{
			reason:  pipelines.HoldFailed,
			message: sentence(fmt.Sprintf("attempt %d failed, and a retry cannot succeed until something changes", p.Attempts), message),
		}
	}
	return gate{reason: pipelines.HoldRetrying, message: sentence(fmt.Sprintf("attempt %d failed", p.Attempts), message), until: next}
}

// brokenHold returns why a promotion that was handed over has not arrived or was rolled back.
func brokenHold(p *pipelines.PromotionStatus) gate {
	g := gate{reason: pipelines.HoldStalled, message: "; retry, or wait for another revision"}
	if p.State == pipelines.PromotionRolledBack || p.Error != nil && p.Error.Reason == ReasonRolledBack {
		g.reason = pipelines.HoldRolledBack
	}
	if p.Error != nil {
		g.message = p.Error.Message + g.message
	} else {
		g.message = "revision " + p.Revision + " has not arrived" + g.message
	}
	return g
}

func mergeMessage(f facts, s step, r record) string {
	p := r.Promotion
	message := fmt.Sprintf("pull request %s must be merged", urlOf(p))
	if request, found := pullRequestOf(f.PullRequests, r); found && request.Conflicting {
		message += ", which conflicts with its base branch"
	}
	if words := checksInWords(p.PullRequest); words != "" {
		message += "; " + words
	}
	if s.verdict == verdictBehind {
		message += "; earlier environments are not healthy at the revision any more"
	}
	if s.revision != "" && !isFor(p, s.revision, s.run) {
		message += "; revision " + s.revision + " is next"
	}
	return message
}

func urlOf(p *pipelines.PromotionStatus) string {
	if p.PullRequest == nil {
		return ""
	}
	return p.PullRequest.URL
}

func closerOf(p *pipelines.PromotionStatus) string {
	if p.PullRequest == nil {
		return ""
	}
	return p.PullRequest.ClosedBy
}

func rejection(p *pipelines.PromotionStatus) string {
	if p.Approval == nil {
		return ""
	}
	return p.Approval.Message
}
