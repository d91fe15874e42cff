// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"strings"
	"testing"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/schedule"
)

var last = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func every(text lsv1alpha1.Duration) *lsv1alpha1.Duration { return &text }

func TestNext(t *testing.T) {
	for name, c := range map[string]struct {
		plan schedule.Plan
		want time.Time
		none bool
	}{
		"the default":     {plan: schedule.Plan{Default: time.Hour}, want: last.Add(time.Hour)},
		"an interval":     {plan: schedule.Plan{Every: every("90s"), Default: time.Hour}, want: last.Add(90 * time.Second)},
		"never":           {plan: schedule.Plan{Every: every("none"), Default: time.Hour}, none: true},
		"a cron schedule": {plan: schedule.Plan{Cron: "30 5 * * *"}, want: time.Date(2026, 3, 4, 5, 30, 0, 0, time.UTC)},
		"a word":          {plan: schedule.Plan{Cron: "@daily"}, want: time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC)},
		"cron wins over the interval": {
			plan: schedule.Plan{Cron: "@hourly", Every: every("1m")},
			want: time.Date(2026, 3, 4, 6, 0, 0, 0, time.UTC),
		},
		"a day that never comes":         {plan: schedule.Plan{Cron: "0 0 30 2 *"}, none: true},
		"strictly after the last moment": {plan: schedule.Plan{Cron: "6 5 * * *"}, want: time.Date(2026, 3, 5, 5, 6, 0, 0, time.UTC)},
	} {
		t.Run(name, func(t *testing.T) {
			next, ok, err := c.plan.Next(last)
			if err != nil || ok == c.none || !next.Equal(c.want) {
				t.Errorf("Next = %v, %v, %v, want %v", next, ok, err, c.want)
			}
		})
	}
}

func TestNextRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		plan schedule.Plan
		want string
	}{
		"six fields":        {schedule.Plan{Cron: "0 0 * * * *"}, "five fields"},
		"words":             {schedule.Plan{Cron: "sometimes"}, "five fields"},
		"a broken interval": {schedule.Plan{Every: every("often")}, "90s"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, ok, err := c.plan.Next(last); ok || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Next = %v, %v, want an error with %q", ok, err, c.want)
			}
		})
	}
}
