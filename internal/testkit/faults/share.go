// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults

import "time"

// Each workload costs an undisturbed run, with which disturbed ones are compared. So a small share of the plans is a larger share of the
// plans of fewer workloads: each of them is due on one day in every/largeShare, and has then one plan in largeShare.
const largeShare = 8

func days(every int) int { return max(1, every/largeShare) }

// IsDue reports whether the workload with a number takes part on a day, where one of every so many plans is run.
func IsDue(number, every int, day time.Time) bool { return (number+day.YearDay())%days(every) == 0 }

// Share returns those plans of a workload that is due which are run on a day, where one of every so many is: each time others, and at
// least one if there is any.
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
