// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults

import "time"

// Share returns one of every so many plans, on each day others, and at least one if there is any.
func Share[T any](plans []T, every int, day time.Time) []T {
	if every <= 1 || len(plans) == 0 {
		return plans
	}
	var chosen []T
	for i := day.YearDay() % min(every, len(plans)); i < len(plans); i += every {
		chosen = append(chosen, plans[i])
	}
	return chosen
}
