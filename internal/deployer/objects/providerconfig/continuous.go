// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package providerconfig

import (
	"time"

	"espalier.dev/api/deployer"
	"espalier.dev/internal/schedule"
)

// ValidateContinuous says what is wrong with the field continuousReconcile, which may be absent.
func ValidateContinuous(continuous *deployer.ContinuousReconcile, problems *Problems) {
	if continuous == nil {
		return
	}
	if (continuous.Cron == "") == (continuous.Every == nil) {
		problems.Add("continuousReconcile", "needs either cron or every")
		return
	}
	if _, _, err := planOf(continuous).Next(time.Time{}); err != nil {
		problems.Add("continuousReconcile", "%v", err)
	}
}

// NextRepair returns when the field continuousReconcile wants the item to be looked after next; false if never.
func NextRepair(continuous *deployer.ContinuousReconcile, after time.Time) (time.Time, bool) {
	if continuous == nil {
		return time.Time{}, false
	}
	next, ok, err := planOf(continuous).Next(after)
	return next, ok && err == nil
}

func planOf(continuous *deployer.ContinuousReconcile) schedule.Plan {
	return schedule.Plan{Cron: continuous.Cron, Every: continuous.Every}
}
