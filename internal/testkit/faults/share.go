// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults

import "time"

// Each workload needs an undisturbed run, with which disturbed ones are compared. So a small share of the plans is a larger share of the
// plans of fewer workloads: each of them is due on one day in every/largeShare, and then runs one plan in largeShare.
const largeShare = 8

func days(every int) int { return max(1, every/largeShare) }

// IsDue reports whether a workload, given by number, takes part on a day when one plan in every is run.
func IsDue(number, every int, day time.Time) bool { return (number+day.YearDay())%days(every) == 0 }

// Share returns the plans of a due workload to run on a day, one in every: different ones each time, and at least one if there is any.
func Share[T any](plans []T, every int, day time.Time) []T {
	if every <= 1 || len(plans) == 0 {
		return plans
	}
	time, every := day.YearDay()/days(every), min(every, largeShare)
	var chosen []T
	for i := time % min(every, len(plans)); i < len(plans); i += every {
		chosen = append(chosen, plans[i])
	}
	return chosen
}
