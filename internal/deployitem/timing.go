// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployitem

import (
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// These are the default time limits.
const (
	DefaultPickupTimeout   = 5 * time.Minute
	DefaultProgressTimeout = 10 * time.Minute
)

// PickedUp reports whether a deployer works on the item: a stored phase that is not final shows that.
func PickedUp(status *lsv1alpha1.DeployItemStatus) bool {
	return status.Phase != "" && !status.Phase.IsFinal()
}

// Began returns when the deployer that has picked up the current job started; zero if that was not recorded.
func Began(status *lsv1alpha1.DeployItemStatus) time.Time {
	var began time.Time
	if status.TransitionTimes != nil && status.TransitionTimes.InitTime != nil {
		began = status.TransitionTimes.InitTime.Time
	}
	if status.LastReconcileTime != nil && status.LastReconcileTime.After(began) {
		began = status.LastReconcileTime.Time
	}
	return began
}

// DeadlineOf returns when a job that started at the given time must end, zero if it has no limit.
func DeadlineOf(item *lsv1alpha1.DeployItem, began time.Time) (time.Time, error) {
	limit, limited, err := item.Spec.Timeout.Limit(DefaultProgressTimeout)
	if err != nil || !limited {
		return time.Time{}, err
	}
	return began.Add(limit), nil
}

// InDeletionFlow reports whether the current or next job of an item deletes it. A job that was running when the deletion was requested is
// finished first.
func InDeletionFlow(deleting bool, phase lsv1alpha1.Phase) bool {
	running := phase != "" && !phase.IsFinal()
	return deleting && (!running || phase.IsDeletion())
}
