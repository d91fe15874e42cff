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

// barrier is what keeps an environment from going on.
type barrier struct {
	// stops also keep what has begun from being attempted again: somebody wants nothing to happen.
	stops []gate
	// gates, the stops among them, keep the promotion that is needed next from beginning. They are known as long as it has not begun.
	gates []gate
}

// barriers are what keeps each environment of the spec from going on. Requests of people have been answered before: they may open gates.
func barriers(f facts, l ledger) []barrier {
	all := make([]barrier, len(f.steps))
	for i, s := range f.steps {
		all[i].stops = stops(f.Observed, s.name())
		r := l.of(s.name())
		if s.verdict == verdictNeeded && isFor(r.Promotion, s.revision, s.run) && r.Promotion.State == pipelines.PromotionUnattempted {
			all[i].gates = slices.Concat(all[i].stops, gates(f, s, r, l.of(f.views[i-1].name())))
		}
	}
	return all
}

func stops(o Observed, name string) []gate {
	var closed []gate
	if o.Spec.Suspend {
		closed = append(closed, gate{
			reason: pipelines.HoldSuspended, whole: true,
			message: "the pipeline is suspended: set spec.suspend to false to let it go on",
		})
	}
	for _, hold := range o.UserHolds {
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

// gates are those that keep a promotion from beginning, beside the stops.
func gates(f facts, s step, r, before record) []gate {
	var closed []gate
	if r.Withdrawal != nil {
		closed = append(closed, withdrawing(r.Withdrawal))
	}
	if lookingUp(s, r) {
		closed = append(closed, gate{reason: pipelines.HoldLookingUp, message: unlisted(s.view)})
	}
	if r.Promotion.Expedited {
		return closed
	}
	closed = append(closed, soak(f.views[s.index-1], before.Healthy, r.Promotion.Revision, f.Now)...)
	return append(closed, openWindow(s.view, f.Now)...)
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

// lookingUp reports whether a pull request may exist that the pipeline has forgotten.
func lookingUp(s step, r record) bool {
	p := r.Promotion
	return p.Strategy == pipelines.StrategyPullRequest && s.seen.ListingPending && p.Attempts == 0 && len(r.History) == 0
}

// unlisted says what is not known, and why.
func unlisted(v view) string { return sentence(unlistedText(v.name()), v.seen.ListingProblem) }

func unlistedText(environment string) string {
	return "which pull requests of environment " + environment + " exist is not known yet"
}

// soak is closed until the environment before has been healthy for long enough.
func soak(source view, healthy *pipelines.EnvironmentHealth, revision string, now time.Time) []gate {
	length, err := source.spec.MinHealthy.Parse()
	if err != nil {
		return []gate{{reason: pipelines.HoldInvalid, message: fmt.Sprintf("minHealthy of environment %s: %v", source.name(), err)}}
	}
	if length == 0 {
		return nil
	}
	if healthy == nil || healthy.Revision != revision {
		// The walk has found the environment healthy, so this cannot be. Were it so, waiting would be right.
		return []gate{{reason: pipelines.HoldSoaking, message: "environment " + source.name() + " is not healthy"}}
	}
	until := healthy.Since.Add(length)
	if !now.Before(until) {
		return nil
	}
	return []gate{{reason: pipelines.HoldSoaking, until: until, message: fmt.Sprintf(
		"environment %s must be healthy for %s, and is since %s",
		source.name(),
		source.spec.MinHealthy,
		healthy.Since.UTC().Format(time.RFC3339),
	)}}
}

// openWindow is closed when the windows of the environment say so.
func openWindow(v view, now time.Time) []gate {
	windows, err := readWindows(v.name(), v.spec.Windows)
	if err != nil {
		return []gate{{reason: pipelines.HoldInvalid, message: err.Error()}}
	}
	opening := openingAt(windows, now)
	if opening.open {
		return nil
	}
	return []gate{{reason: pipelines.HoldOutsideWindow, until: opening.until, message: "it is " + opening.because}}
}
