// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"time"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// launch starts the attempts that nothing blocks, and marks promotions that do not arrive in time as stalled.
func launch(f facts, closed []barrier, l ledger) ledger {
	l = l.along(f.steps, func(s step, r record) record {
		if mayBegin(f, s, r, closed[s.index]) {
			return attempt(f, r)
		}
		return r
	})
	return l.along(f.steps, func(s step, r record) record { return watchArrival(f, s, r) })
}

// mayBegin reports whether an attempt can start now.
func mayBegin(f facts, s step, r record, closed barrier) bool {
	p := r.Promotion
	if !isFor(p, s.revision, s.run) || !s.attemptable(p) || busy(f.Attempts, s.name()) || !agreed(f, s, p) {
		return false
	}
	switch p.State {
	case pipelines.PromotionUnattempted:
		return len(closed.gates) == 0
	case pipelines.PromotionFailed:
		return len(closed.stops) == 0 && due(f, s, p)
	}
	return false
}

// retriedAt returns when a failed attempt will be repeated; zero if that depends on something other than time.
func retriedAt(f facts, s step, r record, closed barrier) time.Time {
	p := r.Promotion
	next := p.NextAttemptTime
	if next == nil || !next.After(f.now.Time) || len(closed.stops) > 0 {
		return time.Time{}
	}
	if !isFor(p, s.revision, s.run) || !s.attemptable(p) || !agreed(f, s, p) {
		return time.Time{}
	}
	return next.Time
}

// agreed reports whether the recorded strategy of a promotion is the configured one.
func agreed(f facts, s step, p *pipelines.PromotionStatus) bool {
	strategy, _ := strategyOf(f.promotion(s.view))
	return strategy != "" && strategy == p.Strategy
}

// busy reports whether an attempt for the environment is running. Only one runs at a time.
func busy(attempts map[AttemptID]Attempt, name string) bool {
	for id, attempt := range attempts {
		if id.Environment == name && attempt.State == AttemptRunning {
			return true
		}
	}
	return false
}

// due reports whether to repeat a failed attempt: the delay has passed, or the cause of the failure may have changed.
func due(f facts, s step, p *pipelines.PromotionStatus) bool {
	if p.Error != nil && p.Error.Permanent {
		changed := s.seen.Inputs != "" && p.Error.Inputs != "" && s.seen.Inputs != p.Error.Inputs
		changed = changed || f.Generation != p.Error.Generation
		return changed && !f.Now.Before(repeatable(p))
	}
	return p.NextAttemptTime == nil || !f.now.Time.Before(p.NextAttemptTime.Time)
}

// repeatable returns the earliest time for another attempt after a change, however often changes occur.
func repeatable(p *pipelines.PromotionStatus) time.Time {
	if p.LastAttemptedTime == nil {
		return time.Time{}
	}
	return p.LastAttemptedTime.Add(retryAfter(p.Key, p.Attempts))
}

// attempt records the attempt before it starts.
func attempt(f facts, r record) record {
	r = r.edit(func(p *pipelines.PromotionStatus) {
		now := f.now
		p.Attempts++
		p.LastAttemptedTime = &now
		if p.Strategy != pipelines.StrategyPullRequest {
			return
		}
		if p.PullRequest == nil {
			p.PullRequest = &pipelines.PullRequestStatus{Branch: Branch(f.Namespace, f.Name, r.name, p.Key)}
		}
		p.PullRequest.Repository = f.repository(r.name)
	})
	why := fmt.Sprintf("attempt %d started", r.Promotion.Attempts)
	if r.Promotion.Downgrade {
		why += ", a downgrade"
	}
	if approved(r.Promotion) {
		// The approval server records approvals without an Event.
		why += ", approved" + by(r.Promotion.Approval.By)
	}
	return r.move(pipelines.PromotionAttempting, why, f.now)
}
