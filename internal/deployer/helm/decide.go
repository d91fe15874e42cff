// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"time"

	"helm.sh/helm/v4/pkg/release/common"
)

// patience is how long a foreign operation may take before it counts as abandoned: Helm's default timeout.
const patience = 5 * time.Minute

// revision is the relevant part of one revision of a release.
type revision struct {
	status common.Status
	// since is when the operation that created it started.
	since time.Time
	// ours reports whether this deploy item created it. No other process works on the item, so an operation of ours that is
	// still in progress was abandoned when a process died.
	ours bool
	// same reports whether it has the wanted chart and values.
	same bool
}

// facts describe a release before anything is changed.
type facts struct {
	// history is in the order of the revisions; empty if there is no release.
	history []revision
	now     time.Time
}

// course is the next operation on a release.
type course int

const (
	// leave means that the wanted revision is already deployed.
	leave course = iota
	// install creates the first revision, or the first one after a failed or rolled back installation.
	install
	// upgrade creates another revision.
	upgrade
	// await means that another client's operation is in progress.
	await
)

// resolution is the next operation and its parameters.
type resolution struct {
	course course
	// recover reports whether the last revision was abandoned and must be marked as failed first.
	recover bool
	// until is when a foreign operation counts as abandoned.
	until time.Time
}

// decide is a pure function of the facts.
func decide(f facts) resolution {
	if len(f.history) == 0 {
		return resolution{course: install}
	}
	last := f.history[len(f.history)-1]
	if last.status == common.StatusDeployed && last.same {
		return resolution{course: leave}
	}
	underway := isUnderway(last.status)
	if underway && !last.ours && f.now.Before(last.since.Add(patience)) {
		return resolution{course: await, until: last.since.Add(patience)}
	}
	result := resolution{course: install, recover: underway}
	if stands(f.history) {
		result.course = upgrade
	}
	return result
}

// isUnderway reports whether an operation has started but not ended.
func isUnderway(status common.Status) bool {
	return status.IsPending() || status == common.StatusUninstalling || status == common.StatusUnknown || status == ""
}

// stands reports whether there is something to upgrade: a revision that was deployed and not uninstalled since. After a
// failed installation, an upgrade would skip the installation's hooks.
func stands(history []revision) bool {
	for i := len(history) - 1; i >= 0; i-- {
		switch history[i].status {
		case common.StatusDeployed, common.StatusSuperseded:
			return true
		case common.StatusUninstalled, common.StatusUninstalling:
			return false
		}
	}
	return false
}
