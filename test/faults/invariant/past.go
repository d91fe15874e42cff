// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
	"espalier.dev/internal/testkit"
)

// specsAreKept holds for the history of every root: revisions are numbered without repetition, the newest first, and each has another spec
// than the one before. A job that was followed by another revision has a result. At the end of a job, the newest revision is that of the
// job, and has its result.
func specsAreKept(history testkit.History) []Violation {
	f := &findings{rule: "I26"}
	replay(history, func(s step) {
		if s.after == nil || s.id.Kind != kindInstallation || s.ending {
			return
		}
		past := typed[lsv1alpha1.Installation](s.after).Status.History
		for i := 1; i < len(past); i++ {
			follows(f, s, past[i-1], past[i])
		}
		if endsJob(s.after) && !isOf(s.after, past) {
			f.add(s, "job %s has ended as %s, and the newest of %d revisions is not its own", s.after.job, s.after.phase, len(past))
		}
	})
	return f.found
}

// follows checks a revision and the one before it.
func follows(f *findings, s step, newer, older lsv1alpha1.SpecRevision) {
	switch {
	case newer.Revision <= older.Revision:
		f.add(s, "revision %d is followed by revision %d", newer.Revision, older.Revision)
	case newer.SpecHash == older.SpecHash:
		f.add(s, "revisions %d and %d have the same spec", newer.Revision, older.Revision)
	case older.JobID != "" && older.Result == "":
		f.add(s, "revision %d of job %s has no result, and revision %d has come", older.Revision, older.JobID, newer.Revision)
	}
}

// isOf reports whether the newest revision is that of the last job of a root.
func isOf(root *object, past []lsv1alpha1.SpecRevision) bool {
	return len(past) > 0 && past[0].JobID == root.job && string(past[0].Result) == root.phase
}

// endsJob reports whether a root is in the state in which its last job has left it. The job of a deletion uses no spec.
func endsJob(o *object) bool {
	_, nested := o.parent()
	return !nested && !o.isContinuous() && !o.deleting() && o.job != "" && o.isFinished() && o.isFinal()
}

// suspendedRootsRest holds for every write to a root that was suspended before and is afterwards: no job starts that was not granted
// before, and in the continuous flow, what is at rest stays at rest. An update to a spec that was new when the root was suspended may have
// started without the status saying so.
func suspendedRootsRest(history testkit.History) []Violation {
	f := &findings{rule: "I27"}
	begun := map[testkit.ObjectID]int64{}
	replay(history, func(s step) {
		switch {
		case s.after == nil || !isSuspended(s.after) || s.after.deleting():
			return
		case s.before != nil && isSuspended(s.before):
			startsNothing(f, s, begun[s.id] == s.after.generation)
		case s.after.isUpToDate():
			delete(begun, s.id)
		default:
			begun[s.id] = s.after.generation
		}
	})
	return f.found
}

func startsNothing(f *findings, s step, begun bool) {
	was, is := grantOf(s.before), grantOf(s.after)
	rested := s.after.isContinuous() && lsv1alpha1.Phase(s.before.phase).IsCompleted() && !isToEnd(s.before) && !begun
	switch {
	case is != "" && is != was:
		f.add(s, "it is suspended, and job %s is granted", is)
	case s.changed(jobOf) && s.after.job != was:
		f.add(s, "it is suspended, and job %s begins", s.after.job)
	case rested && s.changed(phaseOf):
		f.add(s, "it is suspended, and goes from phase %s to %s", s.before.phase, s.after.phase)
	}
}

func grantOf(o *object) string {
	return run.ParseGrant(o.annotation(run.GrantAnnotation), string(o.raw.GetUID()))
}

func isSuspended(o *object) bool {
	_, nested := o.parent()
	return o.id.Kind == kindInstallation && !nested && o.annotation(lsv1alpha1.SuspendAnnotation) == "true"
}

// isToEnd reports whether a pending operation ends work, which a suspension does not prevent.
func isToEnd(o *object) bool {
	starts := []string{"", string(lsv1alpha1.OperationReconcile), string(lsv1alpha1.OperationForceReconcile)}
	return !slices.Contains(starts, operationOf(o))
}
