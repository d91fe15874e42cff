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

// hold writes down what revisions wait for.
func (d *draft) hold() {
	before := d.status().Holds
	d.status().Holds = nil
	if len(d.views) == 0 {
		d.addHold("", "", gate{reason: pipelines.HoldNoTargets, message: "the pipeline has no environments"})
	}
	for _, s := range d.steps {
		d.holdStep(s)
	}
	for _, v := range d.views {
		if d.blind() && v.facts.ListingPending {
			d.addHold(v.name(), "", gate{reason: pipelines.HoldLookingUp, message: unlisted(v)})
		}
	}
	d.holdWithdrawals()
	d.keepSince(before)
}

// keepSince lets holds that were there before keep the time at which they began.
func (d *draft) keepSince(before []pipelines.Hold) {
	for i, hold := range d.status().Holds {
		j := slices.IndexFunc(before, func(b pipelines.Hold) bool {
			return b.Environment == hold.Environment && b.Reason == hold.Reason && b.Revision == hold.Revision
		})
		if j >= 0 {
			d.status().Holds[i].Since = before[j].Since
		}
	}
}

// holdWithdrawals says which pull requests are being closed, also those of environments that are gone or that nothing else waits in.
func (d *draft) holdWithdrawals() {
	for _, name := range d.recorded() {
		w := d.environment(name).Withdrawal
		said := slices.ContainsFunc(d.status().Holds, func(h pipelines.Hold) bool { return h.Environment == name && h.Reason == pipelines.HoldWithdrawing })
		if w != nil && !said {
			d.addHold(name, w.Revision, withdrawing(w))
		}
	}
}

func (d *draft) addHold(environment, revision string, g gate) {
	hold := pipelines.Hold{
		Environment: environment, Reason: g.reason, Message: shorten(g.message, maxMessage), Revision: revision, Since: d.now,
	}
	if g.whole {
		hold.Environment, hold.Revision = "", ""
	}
	if !g.until.IsZero() {
		until := metav1.NewTime(g.until.UTC().Truncate(time.Second))
		hold.Until = &until
	}
	same := func(h pipelines.Hold) bool {
		return h.Environment == hold.Environment && h.Reason == hold.Reason && h.Message == hold.Message
	}
	if !slices.ContainsFunc(d.status().Holds, same) {
		d.status().Holds = append(d.status().Holds, hold)
	}
}

// holdStep writes down what is waited for at one environment: what the walk says, or the promotion to it.
func (d *draft) holdStep(s step) {
	p := d.environment(s.name()).Promotion
	if s.duplicate {
		d.addHold(s.name(), s.revision, gate{
			reason:  pipelines.HoldInvalid,
			message: fmt.Sprintf("two environments are called %s: give each a name of its own", s.name()),
		})
		return
	}
	if g, held := walkHold(s); held && !brokenHere(s, p) {
		d.addHold(s.name(), s.revision, g)
		return
	}
	if s.verdict == verdictNeeded && d.holdNeeded(s, p) {
		return
	}
	if p != nil && s.index > 0 && s.verdict != verdictReached {
		d.holdRecord(s, p)
	}
}

// brokenHere tells whether the revision is rolling out for longer than it should: then that is what has to be said.
func brokenHere(s step, p *pipelines.PromotionStatus) bool {
	return s.verdict == verdictRollingOut && isFor(p, s.revision, s.run) && p.State == pipelines.PromotionStalled
}

// holdNeeded says what keeps a promotion that is needed from being recorded or begun. It reports false if there is more to say.
func (d *draft) holdNeeded(s step, p *pipelines.PromotionStatus) bool {
	wanted := isFor(p, s.revision, s.run)
	if wanted && p.State != pipelines.PromotionSuperseded {
		return d.holdPlan(s, p)
	}
	if d.outstanding(s.name()) {
		return false
	}
	d.holdUnplanned(s)
	return true
}

// walkHold is what the walk itself waits for.
func walkHold(s step) (gate, bool) {
	switch s.verdict {
	case verdictUnsettled:
		return firstHold(s), true
	case verdictUnreadable:
		return s.unreadableGate(), true
	case verdictNeverDeployed:
		return gate{reason: pipelines.HoldNeverDeployed, message: s.undeployed()}, true
	case verdictNoTargets:
		return gate{reason: pipelines.HoldNoTargets, message: "environment " + s.name() + " has no targets"}, true
	case verdictRollingOut:
		return gate{reason: pipelines.HoldRollingOut, message: s.laggards(s.revision)}, true
	}
	return gate{}, false
}

// firstHold says why the first environment has not settled.
func firstHold(s step) gate {
	switch {
	case len(s.facts.Targets) == 0:
		return gate{reason: pipelines.HoldNoTargets, message: "environment " + s.name() + " has no targets"}
	case !s.readable():
		return s.unreadableGate()
	}
	return gate{reason: pipelines.HoldUnsettled, message: "the targets are not all healthy at one revision: " + s.laggards("")}
}

// holdUnplanned says why there is no record of a promotion that is needed.
func (d *draft) holdUnplanned(s step) {
	if w := d.environment(s.name()).Withdrawal; w != nil {
		d.addHold(s.name(), s.revision, withdrawing(w))
		return
	}
	d.addHold(s.name(), s.revision, gate{
		reason:  pipelines.HoldNoStrategy,
		message: fmt.Sprintf("nothing says how to promote to environment %s: set a strategy in its promotion, or in spec.promotion", s.name()),
	})
}

// holdPlan says what keeps a promotion from beginning. It reports false if it has begun.
func (d *draft) holdPlan(s step, p *pipelines.PromotionStatus) bool {
	switch p.State {
	case pipelines.PromotionUnattempted:
		closed := d.gates(s, p)
		if len(closed) == 0 && d.busy(s.name()) {
			closed = append(closed, gate{reason: pipelines.HoldWithdrawing, message: "an attempt for an older promotion is still running"})
		}
		for _, g := range closed {
			d.addHold(s.name(), s.revision, g)
		}
	case pipelines.PromotionUnapproved:
		for _, g := range d.stops(s.name()) {
			d.addHold(s.name(), s.revision, g)
		}
		return false
	case pipelines.PromotionAttempting, pipelines.PromotionFailed:
		for _, g := range d.stops(s.name()) {
			d.addHold(s.name(), s.revision, g)
		}
		return p.State == pipelines.PromotionAttempting
	default:
		return false
	}
	return true
}

// holdRecord says what a promotion waits for that has been recorded.
func (d *draft) holdRecord(s step, p *pipelines.PromotionStatus) {
	var g gate
	switch p.State {
	case pipelines.PromotionUnapproved:
		g = gate{reason: pipelines.HoldWaitingForApproval, message: fmt.Sprintf("somebody must approve revision %s for environment %s", p.Revision, s.name())}
		if p.Downgrade {
			g.message += ", which is a downgrade"
		}
	case pipelines.PromotionCreated:
		g = gate{reason: pipelines.HoldWaitingForMerge, message: d.mergeMessage(s, p)}
	case pipelines.PromotionFailed:
		g = failedHold(p)
	case pipelines.PromotionAbandoned:
		g = gate{reason: pipelines.HoldAbandoned, message: fmt.Sprintf("pull request %s was closed without merging%s: ask for a retry, or wait for another revision", urlOf(p), by(closerOf(p)))}
	case pipelines.PromotionRejected:
		g = gate{reason: pipelines.HoldRejected, message: sentence(fmt.Sprintf("revision %s was rejected%s; ask for a retry, or wait for another revision", p.Revision, by(decider(p))), rejection(p))}
	case pipelines.PromotionSucceeded:
		g = gate{reason: pipelines.HoldRollingOut, message: fmt.Sprintf("revision %s was handed over and has not arrived: %s", p.Revision, s.laggards(p.Revision))}
	case pipelines.PromotionStalled, pipelines.PromotionRolledBack:
		g = brokenHold(p)
	default:
		return
	}
	d.addHold(s.name(), p.Revision, g)
}

func failedHold(p *pipelines.PromotionStatus) gate {
	var message string
	if p.Error != nil {
		message = p.Error.Message
	}
	if p.Error != nil && p.Error.Permanent {
		return gate{reason: pipelines.HoldFailed, message: sentence(fmt.Sprintf("attempt %d has failed, and another one cannot help until something changes", p.Attempts), message)}
	}
	g := gate{reason: pipelines.HoldRetrying, message: sentence(fmt.Sprintf("attempt %d has failed", p.Attempts), message)}
	if p.NextAttemptTime != nil {
		g.until = p.NextAttemptTime.Time
	}
	return g
}

// brokenHold says why a promotion that was handed over is not where it should be.
func brokenHold(p *pipelines.PromotionStatus) gate {
	g := gate{reason: pipelines.HoldStalled, message: "; ask for a retry, or wait for another revision"}
	if p.State == pipelines.PromotionRolledBack || p.Error != nil && p.Error.Reason == "RolledBack" {
		g.reason = pipelines.HoldRolledBack
	}
	if p.Error != nil {
		g.message = p.Error.Message + g.message
	} else {
		g.message = "revision " + p.Revision + " does not arrive" + g.message
	}
	return g
}

func (d *draft) mergeMessage(s step, p *pipelines.PromotionStatus) string {
	message := fmt.Sprintf("somebody must merge pull request %s", urlOf(p))
	if request, found := d.pullRequestOf(s.name(), p); found && request.Conflicting {
		message += ", which conflicts with its base branch"
	}
	if s.verdict == verdictBehind {
		message += "; the environments before are not healthy at the revision now"
	}
	if s.revision != "" && !isFor(p, s.revision, s.run) {
		message += "; revision " + s.revision + " follows"
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
