// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"slices"
	"time"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/run"
)

// gate blocks the start of a promotion.
type gate struct {
	reason  pipelines.HoldReason
	message string
	// until is when the gate opens without a user; zero if it does not, or if the time is unknown.
	until time.Time
	// whole reports whether the gate holds the pipeline and not one environment.
	whole bool
}

// barrier contains everything that blocks an environment.
type barrier struct {
	// stops also prevent further attempts of a promotion that has started, because a user has stopped everything.
	stops []gate
	// gates, including the stops, block the start of the next promotion. They are computed until it starts.
	gates []gate
}

// barriers returns the barrier of each environment of the spec. Requests must be answered before, since they may open gates.
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
			message: "the pipeline is " + run.Suspended(o.SuspendReason) + "; it continues after espalier resume pipeline/" + o.Name,
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
			reason: pipelines.HoldHeld, whole: hold.Environment == "", message: sentence(message+", until released", hold.Message),
		})
	}
	return closed
}

// gates returns what blocks the start of a promotion, in addition to the stops.
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
		message = sentence(message+fmt.Sprintf(", attempt %d failed", failedAttempt(w)), w.Error.Message)
	}
	g := gate{reason: pipelines.HoldWithdrawing, message: message}
	if w.NextAttemptTime != nil {
		g.until = w.NextAttemptTime.Time
	}
	return g
}

// failedAttempt returns the number of the attempt that caused the error: the previous one while the next one is running.
func failedAttempt(w *pipelines.Withdrawal) int32 {
	if w.NextAttemptTime == nil {
		return w.Attempts - 1
	}
	return w.Attempts
}

// lookingUp reports whether a pull request may exist that is not recorded.
func lookingUp(s step, r record) bool {
	p := r.Promotion
	return p.Strategy == pipelines.StrategyPullRequest && s.seen.ListingPending && p.Attempts == 0 && len(r.History) == 0
}

// unlisted describes which pull requests are not known yet, and why.
func unlisted(v view) string { return sentence(unlistedText(v.name()), v.seen.ListingProblem) }

func unlistedText(environment string) string {
	return "still looking up the pull requests of environment " + environment
}

// soak returns a gate until the previous environment has been healthy for the required time.
func soak(source view, healthy *pipelines.EnvironmentHealth, revision string, now time.Time) []gate {
	length, err := source.spec.MinHealthy.Parse()
	if err != nil {
		return []gate{{reason: pipelines.HoldInvalid, message: fmt.Sprintf("minHealthy of environment %s: %v", source.name(), err)}}
	}
	if length == 0 {
		return nil
	}
	if healthy == nil || healthy.Revision != revision {
		// Unreachable, because the walk has found the environment healthy. Waiting is safe.
		return []gate{{reason: pipelines.HoldSoaking, message: "environment " + source.name() + " is not healthy"}}
	}
	until := healthy.Since.Add(length)
	if !now.Before(until) {
		return nil
	}
	return []gate{{reason: pipelines.HoldSoaking, until: until, message: fmt.Sprintf(
		"environment %s must be healthy for %s, and has been since %s",
		source.name(),
		source.spec.MinHealthy,
		healthy.Since.UTC().Format(time.RFC3339),
	)}}
}

// openWindow returns a gate while the windows of the environment are closed.
func openWindow(v view, now time.Time) []gate {
	windows, err := readWindows(v.name(), v.spec.Windows)
	if err != nil {
		return []gate{{reason: pipelines.HoldInvalid, message: err.Error()}}
	}
	opening := openingAt(windows, now)
	if opening.open {
		return nil
	}
	return []gate{{reason: pipelines.HoldOutsideWindow, until: opening.until, message: opening.because}}
}
