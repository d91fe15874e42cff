// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"encoding/binary"
	"encoding/hex"
	"time"

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

// Decide says what to do next. It is total. What has changed is recorded first; what is to be done follows from the record,
// once it is stored.
func Decide(o Observed) Decision {
	if starting(o) && !o.Deleted {
		return Decision{Wait: true, RequeueAfter: startingRecheck, Why: decision.Reason{Code: ReasonStarting, Message: "not all targets and repositories have been looked at yet"}}
	}
	if o.Deleted && !o.Finalizer {
		return Decision{Wait: true, Why: decision.Reason{Code: ReasonDeleting, Message: "it is being deleted"}}
	}
	d := advance(o)
	if d.changed() {
		return Decision{Why: decision.Reason{Code: ReasonRecording, Message: "what has changed is recorded"}}
	}
	var do []Effect
	if len(o.News) > 0 {
		do = append(do, Announce{News: o.News})
	}
	if do = append(do, d.effects()...); len(do) > 0 {
		return Decision{Do: do, SaveFirst: true, Why: decision.Reason{Code: ReasonActing, Message: "what was recorded is carried out"}}
	}
	return Decision{Wait: true, RequeueAfter: d.again(), Why: d.why()}
}

// Settle writes what a decision has come to into the status of a pipeline, and returns the facts as they are then. An error
// leaves the status as it is: attempts have their own place for theirs, and everything else is repeated.
func Settle(p *pipelines.Pipeline, o Observed, d Decision, err error) Observed {
	switch {
	case err != nil:
	case len(d.Do) > 0:
		o.News = nil
	case !d.Wait:
		next := advance(o)
		p.Status = next.pipeline.Status
		o.Status, o.News = *p.Status.DeepCopy(), append(o.News, next.news...)
	}
	return o
}

// why says what the pipeline waits for.
func (d *draft) why() decision.Reason {
	moving, halted := d.progress()
	switch {
	case d.o.Deleted && len(d.status().Holds) > 0:
		return decision.Reason{Code: ReasonDeleting, Message: d.status().Holds[0].Message}
	case d.o.Deleted:
		return decision.Reason{Code: ReasonDeleting, Message: "it is being deleted"}
	case moving != nil:
		return decision.Reason{Code: moving.reason, Message: moving.message}
	case halted != nil:
		return decision.Reason{Code: halted.reason, Message: halted.message}
	case len(d.status().Holds) > 0:
		return decision.Reason{Code: string(d.status().Holds[0].Reason), Message: d.status().Holds[0].Message}
	}
	return decision.Reason{Code: ReasonCurrent, Message: "the revision is in all environments"}
}

// Bounds of when a pipeline is looked at again without being woken.
const (
	startingRecheck = 10 * time.Second
	safetyRecheck   = 30 * time.Minute
	soonest         = time.Second
)

// again is when something can change only because time goes by, or else when the safety net is due. The net is spread, so that
// many pipelines do not come at once.
func (d *draft) again() time.Duration {
	sum, _ := hex.DecodeString(digest("recheck", d.o.Namespace, d.o.Name)[:4])
	next := safetyRecheck - time.Duration(binary.BigEndian.Uint16(sum))*safetyRecheck/4/(1<<16)
	for _, at := range d.times() {
		// A time that is over has had its effect, or something else is waited for.
		if wait := at.Sub(d.o.Now); wait > 0 {
			next = min(next, max(soonest, wait))
		}
	}
	return next
}

// times are when something changes by itself.
func (d *draft) times() []time.Time {
	var times []time.Time
	for _, hold := range d.status().Holds {
		if hold.Until != nil {
			times = append(times, hold.Until.Time)
		}
	}
	for _, name := range d.recorded() {
		e := d.environment(name)
		if e.Withdrawal != nil && e.Withdrawal.NextAttemptTime != nil {
			times = append(times, e.Withdrawal.NextAttemptTime.Time)
		}
		if e.Promotion != nil {
			times = append(times, d.timesOf(e.Promotion)...)
		}
	}
	return times
}

// timesOf are when a promotion changes by itself, whatever the environment is held by.
func (d *draft) timesOf(p *pipelines.PromotionStatus) []time.Time {
	switch p.State {
	case pipelines.PromotionSucceeded:
		return []time.Time{d.deadline(p)}
	case pipelines.PromotionFailed:
		times := []time.Time{repeatable(p)}
		if p.NextAttemptTime != nil {
			times = append(times, p.NextAttemptTime.Time)
		}
		return times
	}
	return nil
}
