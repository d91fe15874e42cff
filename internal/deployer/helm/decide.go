// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"time"

	"helm.sh/helm/v4/pkg/release/common"
)

// patience is how long somebody else's operation may be under way before it counts as abandoned: as long as Helm gives
// its operations unless told otherwise.
const patience = 5 * time.Minute

// revision is what matters of one revision of a release.
type revision struct {
	status common.Status
	// since is when the operation began that has made it.
	since time.Time
	// ours says that this deploy item has made it. Nobody else works for the item, so what is ours and under way was
	// abandoned when a process ended.
	ours bool
	// same says that it has the wanted chart and values.
	same bool
}

// facts are what is known of a release before something is done with it.
type facts struct {
	// history is in the order of the revisions; empty if there is no release.
	history []revision
	now     time.Time
}

// course is what to do with a release.
type course int

const (
	// leave means that the wanted revision is deployed.
	leave course = iota
	// install makes the first revision, or the first one after an installation that has failed or was taken back.
	install
	// upgrade makes another revision.
	upgrade
	// await means that somebody else is at work.
	await
)

// resolution is what to do, and how.
type resolution struct {
	course course
	// recover says that the last revision was abandoned and has to be marked as failed first.
	recover bool
	// until is when an operation of somebody else counts as abandoned.
	until time.Time
}

// decide is a pure function over all that is known.
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

// isUnderway reports whether an operation has begun and not ended.
func isUnderway(status common.Status) bool {
	return status.IsPending() || status == common.StatusUninstalling || status == common.StatusUnknown || status == ""
}

// stands reports whether there is something to upgrade: a revision that was deployed, and not uninstalled since. After an
// installation that has failed, an upgrade would leave out its hooks.
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
