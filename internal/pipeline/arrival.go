// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"time"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// Reasons why a promotion that was handed over has not arrived, or did not stay.
const (
	// ReasonRolledBack is for revisions from which the environment went back.
	ReasonRolledBack = "RolledBack"
	// ReasonNotArrived is for revisions that took too long.
	ReasonNotArrived = "NotArrived"
)

// runStarted reports, as news, that another run has started, if one has.
func runStarted(before, run *pipelines.Run) []News {
	if run == nil || before != nil && before.Revision == run.Revision {
		return nil
	}
	message := fmt.Sprintf("run %d started: the first environment has settled on revision %s", run.Number, run.Revision)
	if before != nil && before.CompletionTime == nil {
		message += fmt.Sprintf("; run %d of revision %s is superseded after %s", before.Number, before.Revision,
			run.StartTime.Sub(before.StartTime.Time))
	}
	return []News{{Reason: "RunStarted", Message: shorten(message, maxMessage)}}
}

// runCompleted reports, as news, that the run has just completed, if it has.
func runCompleted(before, run *pipelines.Run) []News {
	if run == nil || run.CompletionTime == nil || before != nil && before.Number == run.Number && before.CompletionTime != nil {
		return nil
	}
	return []News{{Reason: NewsRunCompleted, Message: fmt.Sprintf("run %d: revision %s is healthy in all environments, %s after the start",
		run.Number, run.Revision, run.CompletionTime.Sub(run.StartTime.Time))}}
}

// settle records the revision that an environment has settled on, and the effect on its promotion: it has arrived, or the environment
// has been rolled back from it.
func settle(f facts, s step, r record) record {
	if s.index > 0 && !f.blind {
		if hasLeft(f, s, r) {
			r = rollBack(f, s, r)
		}
		if revision := s.view.revision(); revision != "" {
			r = arrive(f, r, revision)
		}
	}
	r.Settled = s.settled
	return r
}

// hasLeft reports whether an environment has had the revision of the current run, and none of its targets runs it any more.
func hasLeft(f facts, s step, r record) bool {
	if s.revision == "" || !s.left(s.revision) {
		return false
	}
	if isFor(r.Promotion, s.revision, s.run) {
		return r.Promotion.State == pipelines.PromotionComplete
	}
	arrived := r.Settled != nil && r.Settled.Revision == s.revision && r.Settled.Run == s.run
	return arrived && !outstanding(f.Attempts, r)
}

// rollBack records that an environment was rolled back, so that the revision is not promoted again at once.
func rollBack(f facts, s step, r record) record {
	why := "the environment was rolled back from the revision after its arrival: " + s.laggards(s.revision)
	if isFor(r.Promotion, s.revision, s.run) {
		return breakOff(r.move(pipelines.PromotionRolledBack, why, f.now), ReasonRolledBack, why)
	}
	if r.Promotion != nil {
		given, up := giveUp(r, why, f.now)
		if !up {
			return r
		}
		r = given
	}
	p := newPromotion(f.Spec, s.spec, identity(f, s, 0), f.now)
	p.State = pipelines.PromotionRolledBack
	return breakOff(r.replace(p, why, f.now), ReasonRolledBack, why)
}

// breakOff records why a promotion has not arrived, or did not stay.
func breakOff(r record, reason, why string) record {
	return r.edit(func(p *pipelines.PromotionStatus) {
		p.Error = &pipelines.PromotionError{Reason: reason, Message: shorten(why, maxMessage)}
	})
}

// arrive completes the promotion of a revision once all targets of the environment are healthy at it.
func arrive(f facts, r record, revision string) record {
	p := r.Promotion
	if p == nil || p.Revision != revision {
		return r
	}
	switch p.State {
	case pipelines.PromotionComplete, pipelines.PromotionSuperseded:
		return r
	case pipelines.PromotionCreated:
		// The pull request has probably been merged: its state is polled, and may arrive later than the state of the targets.
		return r
	case pipelines.PromotionAttempting:
		if isRunning(f.Attempts, r) {
			return r
		}
	}
	why := "all targets are healthy at the revision"
	if mayHavePullRequest(p) {
		withdrawn, ok := withdraw(r, why, f.now)
		if !ok {
			return r
		}
		r = withdrawn
	}
	return r.move(pipelines.PromotionComplete, why, f.now)
}

// watchArrival marks a promotion as stalled if it was handed over and has not arrived in time, or was rolled back.
func watchArrival(f facts, s step, r record) record {
	p := r.Promotion
	if s.index == 0 || p == nil || p.State != pipelines.PromotionSucceeded || s.view.revision() == p.Revision {
		return r
	}
	late := !f.Now.Before(deadline(f.Observed, p))
	var reason, why string
	switch {
	case s.wentBack(p.Revision), s.tried(p.Revision) && late:
		reason, why = ReasonRolledBack, "the revision was deployed and rolled back: "+s.laggards(p.Revision)
	case late:
		reason, why = ReasonNotArrived, fmt.Sprintf("the revision has not arrived after %s: %s", rolloutDeadline(f.Observed), s.laggards(p.Revision))
	default:
		return r
	}
	return breakOff(r.move(pipelines.PromotionStalled, why, f.now), reason, why)
}

func rolloutDeadline(o Observed) time.Duration {
	if o.RolloutDeadline > 0 {
		return o.RolloutDeadline
	}
	return DefaultRolloutDeadline
}

// deadline returns the time by which a promotion that was handed over must have arrived.
func deadline(o Observed, p *pipelines.PromotionStatus) time.Time {
	since := p.StartTime
	if p.StateTransitionTime != nil {
		since = *p.StateTransitionTime
	}
	return since.Add(rolloutDeadline(o))
}
