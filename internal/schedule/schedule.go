// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package schedule computes the next time of a recurring event: after an interval, or according to a cron schedule.
package schedule

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Plan determines the times at which something happens. If both fields are set, the cron schedule counts.
type Plan struct {
	Cron  lsv1alpha1.CronSpec
	Every *lsv1alpha1.Duration
	// Default is the interval if neither is set.
	Default time.Duration
}

// parser accepts five fields, or words like @daily.
var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// Next returns the first time after last. It returns false if there is none: the interval is "none".
func (p Plan) Next(last time.Time) (time.Time, bool, error) {
	if p.Cron != "" {
		times, err := parser.Parse(string(p.Cron))
		if err != nil {
			return time.Time{}, false, fmt.Errorf("invalid cron schedule %q: %w; use five fields, for example \"0 3 * * *\"", p.Cron, err)
		}
		next := times.Next(last)
		return next, !next.IsZero(), nil
	}
	every, limited, err := p.Every.Limit(p.Default)
	if err != nil || !limited {
		return time.Time{}, false, err
	}
	return last.Add(every), true, nil
}
