// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"encoding/binary"
	"encoding/hex"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/decision"
)

// Reasons of decisions.
const (
	ReasonStarting  = "Starting"
	ReasonRecording = "Recording"
	ReasonActing    = "Acting"
	ReasonCurrent   = "Current"
	ReasonDeleting  = "Deleting"
)

// Decide returns what to do next. It is total. Changes are recorded first; the effects follow from the record once it is stored.
func Decide(o Observed) Decision {
	if starting(o) && !o.Deleted {
		return Decision{
			Wait:         true,
			RequeueAfter: startingRecheck,
			Why:          decision.Reason{Code: ReasonStarting, Message: "still checking targets and repositories"},
		}
	}
	if o.Deleted && !o.Finalizer {
		return Decision{Wait: true, Why: decision.Reason{Code: ReasonDeleting, Message: "being deleted"}}
	}
	next := advance(o)
	if changed(o.Status, next.status) {
		return Decision{Why: decision.Reason{Code: ReasonRecording, Message: "recording changes"}}
	}
	var do []Effect
	if len(o.News) > 0 {
		do = append(do, Announce{News: o.News})
	}
	if do = append(do, effects(next)...); len(do) > 0 {
		return Decision{Do: do, SaveFirst: true, Why: decision.Reason{Code: ReasonActing, Message: "carrying out what was recorded"}}
	}
	return Decision{Wait: true, RequeueAfter: recheck(next), Why: why(next)}
}

// Settle writes the result of a decision into the status of a pipeline, and returns the facts afterwards. An error does not change
// the status: attempts record their own errors, and everything else is repeated.
func Settle(p *pipelines.Pipeline, o Observed, d Decision, err error) Observed {
	switch {
	case err != nil:
	case len(d.Do) > 0:
		o.News = nil
	case !d.Wait:
		next := advance(o)
		p.Status = *next.status.DeepCopy()
		o.Status, o.News = *next.status.DeepCopy(), append(o.News, next.news...)
	}
	return o
}

// outcome is the result of the facts: the status that must be stored, and its causes.
type outcome struct {
	facts  facts
	closed []barrier
	ledger
	progress progress
	status   pipelines.PipelineStatus
}

// advance computes the status that follows from the facts. It is total, and idempotent: for facts with the returned status it returns the
// same status. No stage changes its input.
func advance(o Observed) outcome {
	f := survey(o)
	if o.Deleted {
		return retire(f)
	}
	known := takeIn(f, openLedger(f))
	wanted := follow(f, known)
	allowed, requests := answer(f, wanted)
	closed := barriers(f, allowed)
	begun := launch(f, closed, allowed)
	return conclude(f, closed, begun, requests)
}

// conclude assembles the status.
func conclude(f facts, closed []barrier, l ledger, requests []pipelines.RequestStatus) outcome {
	next := outcome{facts: f, closed: closed, ledger: l, status: f.Status}
	status := &next.status
	status.ObservedGeneration, status.Run, status.Environments, status.Requests = f.Generation, f.run, l.environments(), requests
	if f.RequestedAt != "" {
		status.LastHandledReconcileAt = f.RequestedAt
	}
	if len(f.steps) > 0 && f.steps[0].verdict == verdictSource && !f.blind {
		status.LatestRevision = f.steps[0].revision
	}
	status.Holds = holds(f, waits(f, closed, l))
	next.progress = progressOf(f, closed, l, status.Holds)
	status.Conditions = conditions(f, readiness(f.views, l, status.Holds), condition(pipelines.ConditionPromotionPending, pending(f.steps)),
		condition(pipelines.ConditionReconciling, next.progress.moving), condition(pipelines.ConditionStalled, next.progress.halted))
	return next
}

// changed reports whether a status differs from the recorded one. Usually they are identical, and the cheap comparison suffices; the
// expensive one treats equal times in different zones as equal.
func changed(before, after pipelines.PipelineStatus) bool {
	return !reflect.DeepEqual(before, after) && !equality.Semantic.DeepEqual(before, after)
}

// why returns what the pipeline waits for.
func why(next outcome) decision.Reason {
	holds := next.status.Holds
	switch {
	case next.facts.Deleted && len(holds) > 0:
		return decision.Reason{Code: ReasonDeleting, Message: holds[0].Message}
	case next.facts.Deleted:
		return decision.Reason{Code: ReasonDeleting, Message: "being deleted"}
	case next.progress.moving != nil:
		return decision.Reason{Code: next.progress.moving.reason, Message: next.progress.moving.message}
	case next.progress.halted != nil:
		return decision.Reason{Code: next.progress.halted.reason, Message: next.progress.halted.message}
	case len(holds) > 0:
		return decision.Reason{Code: string(holds[0].Reason), Message: holds[0].Message}
	}
	return decision.Reason{Code: ReasonCurrent, Message: "the revision is in all environments"}
}

// Bounds of the interval after which a pipeline is checked without an event.
const (
	startingRecheck = 10 * time.Second
	safetyRecheck   = 30 * time.Minute
	soonest         = time.Second
)

// recheck returns when to check again: when a known time is reached, or else after the interval of the safety net. The interval is spread,
// so that many pipelines are not checked at once.
func recheck(next outcome) time.Duration {
	o := next.facts.Observed
	sum, _ := hex.DecodeString(digest("recheck", o.Namespace, o.Name)[:4])
	soon := safetyRecheck - time.Duration(binary.BigEndian.Uint16(sum))*safetyRecheck/4/(1<<16)
	for _, at := range times(next) {
		// A time in the past has had its effect, or the pipeline waits for another event.
		if wait := at.Sub(o.Now); wait > 0 {
			soon = min(soon, max(soonest, wait))
		}
	}
	return soon
}

// times returns the times at which the result changes without an event.
func times(next outcome) []time.Time {
	var times []time.Time
	for _, hold := range next.status.Holds {
		if hold.Until != nil {
			times = append(times, hold.Until.Time)
		}
	}
	for _, r := range next.records {
		if r.Withdrawal != nil && r.Withdrawal.NextAttemptTime != nil {
			times = append(times, r.Withdrawal.NextAttemptTime.Time)
		}
		if r.Promotion != nil {
			times = append(times, timesOf(next.facts.Observed, r.Promotion)...)
		}
	}
	return times
}

// timesOf returns the times at which a promotion changes without an event, regardless of holds.
func timesOf(o Observed, p *pipelines.PromotionStatus) []time.Time {
	switch p.State {
	case pipelines.PromotionSucceeded:
		return []time.Time{deadline(o, p)}
	case pipelines.PromotionFailed:
		times := []time.Time{repeatable(p)}
		if p.NextAttemptTime != nil {
			times = append(times, p.NextAttemptTime.Time)
		}
		return times
	}
	return nil
}
