// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"reflect"
	"slices"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// follow aligns promotions with revisions in all environments: it completes those that have arrived, abandons those with outdated
// revisions, even in environments that the new revision has not reached, and records those that are needed.
func follow(f facts, l ledger) ledger {
	l = l.tell(runStarted(f.Status.Run, f.run)...)
	l = l.along(f.steps, func(s step, r record) record { return settle(f, s, r) })
	l = l.tell(runCompleted(f.Status.Run, f.run)...)
	l = l.along(f.steps, func(s step, r record) record { return supersede(f, s, r) })
	return l.along(f.steps, func(s step, r record) record { return open(f, s, r) })
}

// supersede abandons the promotion of an outdated revision.
func supersede(f facts, s step, r record) record {
	p := r.Promotion
	if s.index == 0 || p == nil || s.revision == "" || isFor(p, s.revision, s.run) || !isLive(p.State) {
		return r
	}
	if f.pairwise() && (outstanding(f.Attempts, r) || !s.offered) {
		return r
	}
	r, _ = giveUp(r, fmt.Sprintf("superseded by revision %s of run %d", s.revision, s.run), f.now)
	return r
}

// open records a promotion if one is needed.
func open(f facts, s step, r record) record {
	if s.verdict != verdictNeeded {
		return r
	}
	r = rederive(f, s, r)
	p := r.Promotion
	if name, _ := strategyOf(f.promotion(s.view)); name == "" {
		return r
	}
	switch {
	case p == nil:
		return begin(f, s, r, 0)
	case isFor(p, s.revision, s.run):
		if p.State == pipelines.PromotionSuperseded {
			return begin(f, s, r, p.Retries+1)
		}
	case !isLive(p.State):
		return begin(f, s, r, 0)
	}
	return r
}

func begin(f facts, s step, r record, retries int32) record {
	p := newPromotion(f.Spec, s.spec, identity(f, s, retries), f.now)
	p.Downgrade = s.runsHigher(s.revision)
	why := "needed"
	if p.Downgrade {
		why = "needed, and a downgrade"
	}
	return absorb(f, r.replace(p, why, f.now))
}

func identity(f facts, s step, retries int32) Identity {
	return f.identify(s.name(), pipelines.PromotionStatus{Revision: s.revision, Run: s.run, Retries: retries})
}

// rederive restarts a promotion if its strategy or repository has changed since it began, and updates whether it needs approval.
func rederive(f facts, s step, r record) record {
	p := r.Promotion
	if !isFor(p, s.revision, s.run) {
		return r
	}
	block := f.promotion(s.view)
	strategy, _ := strategyOf(block)
	switch p.State {
	case pipelines.PromotionUnapproved, pipelines.PromotionUnattempted:
		if p.Attempts == 0 && strategy != "" {
			r = r.edit(func(p *pipelines.PromotionStatus) { p.Strategy = strategy })
			break
		}
		r = restart(f, s, r, strategy)
	case pipelines.PromotionFailed, pipelines.PromotionAttempting, pipelines.PromotionCreated, pipelines.PromotionAbandoned:
		r = restart(f, s, r, strategy)
	}
	return demandApproval(f, r, block)
}

// restart restarts a promotion whose strategy has changed. Its approvals remain valid, because the promotion has not happened.
func restart(f facts, s step, r record, strategy pipelines.StrategyName) record {
	p := r.Promotion
	same := strategy == p.Strategy && strategy != ""
	if same && strategy == pipelines.StrategyPullRequest && p.PullRequest != nil && p.PullRequest.Repository != nil {
		same = sameRepository(p.PullRequest.Repository, f.repository(s.name()))
	}
	if same || isRunning(f.Attempts, r) {
		return r
	}
	r, given := giveUp(r, "the promotion strategy has changed", f.now)
	if !given || strategy == "" {
		return r
	}
	return begin(f, s, r, p.Retries+1).edit(func(next *pipelines.PromotionStatus) {
		next.Approval, next.Approvals = p.Approval.DeepCopy(), slices.Clone(p.Approvals)
	})
}

// sameRepository compares everything but the credentials, which may change at any time.
func sameRepository(a, b *pipelines.PullRequestStrategy) bool {
	left, right := *a, *b
	left.SecretRef, right.SecretRef = pipelines.LocalObjectReference{}, pipelines.LocalObjectReference{}
	return reflect.DeepEqual(left, right)
}

// demandApproval makes a promotion wait for a missing approval, and continue when it no longer needs one.
func demandApproval(f facts, r record, block *pipelines.Promotion) record {
	r = countAgain(r, block)
	p := r.Promotion
	manual := block != nil && block.Manual && !approved(p)
	switch {
	case p.State == pipelines.PromotionUnapproved && !manual:
		return r.move(pipelines.PromotionUnattempted, "approval is no longer needed", f.now)
	case !manual:
	case p.State == pipelines.PromotionUnattempted || p.State == pipelines.PromotionFailed ||
		p.State == pipelines.PromotionAttempting && f.Attempts[attemptOf(r.name, p)].State == "":
		return r.move(pipelines.PromotionUnapproved, "needs approval", f.now)
	}
	return r
}

// countAgain approves a promotion if its approvals are sufficient now, because the pipeline requires fewer than before.
func countAgain(r record, block *pipelines.Promotion) record {
	votes := VotesFor(block, r.Promotion)
	if approved(r.Promotion) || r.Promotion.State != pipelines.PromotionUnapproved || len(votes.Given) == 0 || votes.Missing() > 0 {
		return r
	}
	return r.edit(func(p *pipelines.PromotionStatus) { p.Approval = votes.Given[len(votes.Given)-1].DeepCopy() })
}

func approved(p *pipelines.PromotionStatus) bool {
	return p.Approval != nil && p.Approval.Decision == pipelines.DecisionApproved
}
