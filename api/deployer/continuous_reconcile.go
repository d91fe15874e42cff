// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer

import landscaper "espalier.dev/api/landscaper/v1alpha1"

// ContinuousReconcile deploys again at certain times, to undo changes by others. Exactly one field is set.
type ContinuousReconcile struct {
	// cron is a schedule of five fields.
	Cron landscaper.CronSpec `json:"cron,omitempty"`

	// every is the time between two deployments.
	Every *landscaper.Duration `json:"every,omitempty"`
}
