// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"time"
	// Time zones must mean the same on every machine, even without a time zone database.
	_ "time/tzdata"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/schedule"
)

// opening is when promotions may start according to windows.
type opening struct {
	open bool
	// until is when a closed one opens; zero if unknown.
	until time.Time
	// because is what keeps it closed.
	because string
}

// window is a parsed window.
type window struct {
	pipelines.Window
	length time.Duration
	zone   *time.Location
	plan   schedule.Plan
}

// readWindows parses windows. Its error names the invalid one.
func readWindows(environment string, specs []pipelines.Window) ([]window, error) {
	var windows []window
	for i, spec := range specs {
		w, err := readWindow(spec)
		if err != nil {
			return nil, fmt.Errorf("windows[%d] of environment %s: %w", i, environment, err)
		}
		windows = append(windows, w)
	}
	return windows, nil
}

func readWindow(spec pipelines.Window) (window, error) {
	w := window{Window: spec, zone: time.UTC, plan: schedule.Plan{Cron: lsv1alpha1.CronSpec(spec.Schedule)}}
	length, err := spec.Duration.Parse()
	if err != nil {
		return w, err
	}
	if length <= 0 {
		return w, fmt.Errorf("duration %q must be positive", spec.Duration)
	}
	w.length = length
	if spec.TimeZone != "" {
		if w.zone, err = time.LoadLocation(spec.TimeZone); err != nil {
			return w, fmt.Errorf("unknown timeZone %q: use a name of the IANA database, for example Europe/Berlin", spec.TimeZone)
		}
	}
	if spec.Schedule == "" {
		return w, fmt.Errorf("schedule is empty: use five fields, for example \"0 9 * * 1-5\"")
	}
	_, _, err = w.plan.Next(time.Unix(0, 0))
	return w, err
}

// opensAfter returns when the window opens next; false if never.
func (w window) opensAfter(at time.Time) (time.Time, bool) {
	next, found, err := w.plan.Next(at.In(w.zone))
	return next, found && err == nil
}

// openAt reports whether the window is open, and when the earliest opening that still lasts ends.
func (w window) openAt(at time.Time) (bool, time.Time) {
	start, found := w.opensAfter(at.Add(-w.length))
	if !found || start.After(at) {
		return false, time.Time{}
	}
	return true, start.Add(w.length)
}

// maxChanges bounds the search for the next time at which promotions may start.
const maxChanges = 64

// openingAt reports whether promotions may start and, if not, when they may.
func openingAt(windows []window, at time.Time) opening {
	closed, because := closedAt(windows, at)
	if because == "" {
		return opening{open: true}
	}
	result := opening{because: because}
	for range maxChanges {
		if closed.IsZero() {
			return result
		}
		next, again := closedAt(windows, closed)
		if again == "" {
			result.until = closed
			return result
		}
		closed = next
	}
	return result
}

// closedAt returns why promotions may not start at a time, and when that may change; an empty reason if they may.
func closedAt(windows []window, at time.Time) (change time.Time, because string) {
	if end, which := deniedAt(windows, at); which != "" {
		return end, "inside a window that denies promotions, " + which
	}
	var opens time.Time
	restricted := false
	for _, w := range windows {
		if w.Kind == pipelines.WindowDeny {
			continue
		}
		if open, _ := w.openAt(at); open {
			return time.Time{}, ""
		}
		restricted = true
		if next, found := w.opensAfter(at); found && (opens.IsZero() || next.Before(opens)) {
			opens = next
		}
	}
	if !restricted {
		return time.Time{}, ""
	}
	return opens, "outside all windows that allow promotions"
}

// deniedAt returns the window that denies promotions for longest, and when it closes.
func deniedAt(windows []window, at time.Time) (end time.Time, which string) {
	for _, w := range windows {
		if w.Kind != pipelines.WindowDeny {
			continue
		}
		if open, closes := w.openAt(at); open && closes.After(end) {
			end, which = closes, w.String()
		}
	}
	return end, which
}

// String returns the window in the words of the spec.
func (w window) String() string {
	zone := "UTC"
	if w.TimeZone != "" {
		zone = w.TimeZone
	}
	return fmt.Sprintf("%q for %s in %s", w.Schedule, w.Duration, zone)
}
