// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package providerconfig

import (
	"time"

	"espalier.dev/api/deployer"
	"espalier.dev/internal/schedule"
)

// ValidateContinuous reports problems in the field continuousReconcile, which may be absent.
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

// NextRepair returns the next repair time according to the field continuousReconcile; false if there is none.
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
