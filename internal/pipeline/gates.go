// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"slices"
	"time"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// gate is something that keeps a promotion from beginning.
type gate struct {
	reason  pipelines.HoldReason
	message string
	// until is when it opens by itself; zero if it does not, or if that is not known.
	until time.Time
	// whole says that it holds the pipeline and not one environment.
	whole bool
}

// stops are the gates that also keep what has begun from being attempted again: somebody wants nothing to happen.
func (d *draft) stops(name string) []gate {
	var closed []gate
	if d.o.Spec.Suspend {
		closed = append(closed, gate{
			reason: pipelines.HoldSuspended, whole: true,
			message: "the pipeline is suspended: set spec.suspend to false to let it go on",
		})
	}
	for _, hold := range d.o.UserHolds {
		if hold.Environment != "" && hold.Environment != name {
			continue
		}
		message := "held" + by(hold.By)
		if !hold.Time.IsZero() {
			message += " since " + hold.Time.UTC().Format(time.RFC3339)
		}
		closed = append(closed, gate{
			reason: pipelines.HoldHeld, whole: hold.Environment == "", message: sentence(message+", until it is released", hold.Message),
		})
	}
	return closed
}

// gates are those that keep a promotion to the environment of a step from beginning.
func (d *draft) gates(s step, p *pipelines.PromotionStatus) []gate {
	closed := d.stops(s.name())
	if w := d.environment(s.name()).Withdrawal; w != nil {
		closed = append(closed, withdrawing(w))
	}
	if d.lookingUp(s, p) {
		closed = append(closed, gate{
			reason:  pipelines.HoldLookingUp,
			message: unlisted(s.view),
		})
	}
	if p.Expedited {
		return closed
	}
	closed = append(closed, d.soak(d.views[s.index-1], p.Revision)...)
	return append(closed, d.window(s.view)...)
}

func withdrawing(w *pipelines.Withdrawal) gate {
	message := fmt.Sprintf("pull request %s for revision %s is being closed", nameOf(w.PullRequest), w.Revision)
	if w.Error != nil {
		message = sentence(message+fmt.Sprintf(", attempt %d has failed", failedAttempt(w)), w.Error.Message)
	}
	g := gate{reason: pipelines.HoldWithdrawing, message: message}
	if w.NextAttemptTime != nil {
		g.until = w.NextAttemptTime.Time
	}
	return g
}

// failedAttempt is the number of the attempt that the error is from: while the next one is under way, that of the one before.
func failedAttempt(w *pipelines.Withdrawal) int32 {
	if w.NextAttemptTime == nil {
		return w.Attempts - 1
	}
	return w.Attempts
}

// lookingUp tells whether a pull request may exist that the pipeline has forgotten.
func (d *draft) lookingUp(s step, p *pipelines.PromotionStatus) bool {
	return p.Strategy == pipelines.StrategyPullRequest && s.facts.ListingPending && p.Attempts == 0 &&
		len(d.environment(s.name()).History) == 0
}

// unlisted says what is not known, and why.
func unlisted(v view) string { return sentence(unlistedText(v.name()), v.facts.ListingProblem) }

func unlistedText(environment string) string {
	return "which pull requests of environment " + environment + " exist is not known yet"
}

// soak is closed until the environment before has been healthy for long enough.
func (d *draft) soak(source view, revision string) []gate {
	length, err := source.spec.MinHealthy.Parse()
	if err != nil {
		return []gate{{reason: pipelines.HoldInvalid, message: fmt.Sprintf("minHealthy of environment %s: %v", source.name(), err)}}
	}
	if length == 0 {
		return nil
	}
	healthy := d.environment(source.name()).Healthy
	if healthy == nil || healthy.Revision != revision {
		// The walk has found the environment healthy, so this cannot be. Were it so, waiting would be right.
		return []gate{{reason: pipelines.HoldSoaking, message: "environment " + source.name() + " is not healthy"}}
	}
	until := healthy.Since.Add(length)
	if !d.o.Now.Before(until) {
		return nil
	}
	return []gate{{reason: pipelines.HoldSoaking, until: until, message: fmt.Sprintf(
		"environment %s must be healthy for %s, and is since %s", source.name(), source.spec.MinHealthy, healthy.Since.UTC().Format(time.RFC3339))}}
}

// window is closed when the windows of the environment say so.
func (d *draft) window(v view) []gate {
	windows, err := readWindows(v.name(), v.spec.Windows)
	if err != nil {
		return []gate{{reason: pipelines.HoldInvalid, message: err.Error()}}
	}
	opening := openingAt(windows, d.o.Now)
	if opening.open {
		return nil
	}
	return []gate{{reason: pipelines.HoldOutsideWindow, until: opening.until, message: "it is " + opening.because}}
}

// launch begins the attempts that may begin.
func (d *draft) launch() {
	for _, s := range d.steps {
		p := d.environment(s.name()).Promotion
		if !isFor(p, s.revision, s.run) || !s.attemptable(p) || d.busy(s.name()) || !d.agreed(s, p) {
			continue
		}
		switch p.State {
		case pipelines.PromotionUnattempted:
			if len(d.gates(s, p)) == 0 {
				d.attempt(s)
			}
		case pipelines.PromotionFailed:
			if len(d.stops(s.name())) == 0 && d.due(s, p) {
				d.attempt(s)
			}
		}
	}
}

// agreed tells whether a promotion is to be done in the way that is recorded.
func (d *draft) agreed(s step, p *pipelines.PromotionStatus) bool {
	strategy, _ := strategyOf(d.o.promotion(s.view))
	return strategy != "" && strategy == p.Strategy
}

// busy tells whether an attempt for the environment is running. Another one does not begin beside it.
func (d *draft) busy(name string) bool {
	for id, attempt := range d.o.Attempts {
		if id.Environment == name && attempt.State == AttemptRunning {
			return true
		}
	}
	return false
}

// due tells whether an attempt that has failed is to be repeated: its time has come, or what made it fail may have changed.
func (d *draft) due(s step, p *pipelines.PromotionStatus) bool {
	if p.Error != nil && p.Error.Permanent {
		changed := s.facts.Inputs != "" && p.Error.Inputs != "" && s.facts.Inputs != p.Error.Inputs
		changed = changed || d.o.Generation != p.Error.Generation
		return changed && !d.o.Now.Before(repeatable(p))
	}
	return p.NextAttemptTime == nil || !d.now.Time.Before(p.NextAttemptTime.Time)
}

// repeatable is the earliest time for another attempt when something has changed, however often it does.
func repeatable(p *pipelines.PromotionStatus) time.Time {
	if p.LastAttemptedTime == nil {
		return time.Time{}
	}
	return p.LastAttemptedTime.Add(retryAfter(p.Key, p.Attempts))
}

// attempt records the intent, before anything is done.
func (d *draft) attempt(s step) {
	d.change(s.name(), func(e *pipelines.EnvironmentStatus) {
		p := e.Promotion
		p.Attempts++
		p.LastAttemptedTime = &d.now
		if p.Strategy != pipelines.StrategyPullRequest {
			return
		}
		if p.PullRequest == nil {
			p.PullRequest = &pipelines.PullRequestStatus{Branch: Branch(d.o.Namespace, d.o.Name, s.name(), p.Key)}
		}
		p.PullRequest.Repository = d.repository(s.name())
	})
	p := d.environment(s.name()).Promotion
	why := fmt.Sprintf("attempt %d begins", p.Attempts)
	if p.Downgrade {
		why += ", a downgrade"
	}
	if approved(p) {
		// The server for approvals records them without an Event.
		why += ", approved" + by(p.Approval.By)
	}
	d.move(s.name(), pipelines.PromotionAttempting, why)
}

// watchArrival calls promotions stalled that were handed over and do not arrive.
func (d *draft) watchArrival() {
	for _, s := range d.steps {
		p := d.environment(s.name()).Promotion
		if s.duplicate || s.index == 0 || p == nil || p.State != pipelines.PromotionSucceeded || s.view.revision() == p.Revision {
			continue
		}
		switch {
		case s.wentBack(p.Revision), s.tried(p.Revision) && !d.o.Now.Before(d.deadline(p)):
			d.stall(s.name(), "RolledBack", "the revision was deployed and rolled back: "+s.laggards(p.Revision))
		case !d.o.Now.Before(d.deadline(p)):
			d.stall(s.name(), "NotArrived", fmt.Sprintf("the revision has not arrived for %s: %s", d.rolloutDeadline(), s.laggards(p.Revision)))
		}
	}
}

func (d *draft) stall(name, reason, why string) {
	d.move(name, pipelines.PromotionStalled, why)
	d.change(name, func(e *pipelines.EnvironmentStatus) {
		e.Promotion.Error = &pipelines.PromotionError{Reason: reason, Message: shorten(why, maxMessage)}
	})
}

func (d *draft) rolloutDeadline() time.Duration {
	if d.o.RolloutDeadline > 0 {
		return d.o.RolloutDeadline
	}
	return DefaultRolloutDeadline
}

// deadline is when a promotion that was handed over must have arrived.
func (d *draft) deadline(p *pipelines.PromotionStatus) time.Time {
	since := p.StartTime
	if p.StateTransitionTime != nil {
		since = *p.StateTransitionTime
	}
	return since.Add(d.rolloutDeadline())
}

// blind tells whether a pipeline without memory cannot find out which pull requests it has. It does not begin a run then.
func (d *draft) blind() bool {
	return d.status().Run == nil && slices.ContainsFunc(d.views, func(v view) bool { return v.facts.ListingPending })
}

// starting tells whether something has not been looked at for the first time that would be concluded from. A pipeline without
// memory has to see its pull requests before it numbers a run: they may be from an earlier one, and only its number gives their
// keys.
func starting(o Observed) bool {
	return slices.ContainsFunc(o.Environments, func(e Environment) bool {
		if e.ListingPending && e.ListingProblem == "" && o.Status.Run == nil {
			return true
		}
		return slices.ContainsFunc(e.Targets, func(t Target) bool { return t.Problem.Starting })
	})
}
