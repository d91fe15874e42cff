// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"espalier.dev/internal/installation"
	"espalier.dev/internal/testkit"
)

// finishedFromBelow holds for every pair of parent and child at every revision of either: if the parent has finished a job, the child is
// not in the middle of it, and if it has succeeded, so has the child.
func finishedFromBelow(history testkit.History) []Violation {
	f := &findings{rule: "I1"}
	replay(history, func(s step) {
		if s.after == nil || !s.after.runs() {
			return
		}
		if parent, found := s.after.parent(); found && s.world[parent] != nil {
			checkEnd(f, s, s.world[parent], s.after)
		}
		for _, child := range s.world.children(s.id) {
			checkEnd(f, s, s.after, child)
		}
	})
	return f.found
}

func checkEnd(f *findings, s step, parent, child *object) {
	if parent.job == "" || !parent.isFinished() {
		return
	}
	switch {
	case child.job == parent.job && !child.isFinished():
		f.add(s, "%s has finished job %s in phase %s while %s, in phase %q, has not", parent.id, parent.job, parent.phase, child.id, child.phase)
	case s.id == parent.id && s.changed(finishedOf) && parent.isSuccess() && !child.hasDone(parent.job):
		f.add(
			s,
			"it has succeeded in job %s although %s has job %s, finished %s, in phase %q",
			parent.job,
			child.id,
			child.job,
			child.finished,
			child.phase,
		)
	}
}

// oneEnd holds for every write that changes the phase to a final one, or the finished job.
func oneEnd(history testkit.History) []Violation {
	f := &findings{rule: "I3"}
	replay(history, func(s step) {
		if s.after == nil || !s.after.runs() {
			return
		}
		if s.changed(finishedOf) && s.after.finished != "" {
			checkFinish(f, s)
			return
		}
		if o := s.after; s.changed(phaseOf) && o.isFinal() && !o.isFinished() {
			f.add(s, "phase %s is final, but job %s is not finished (the last one is %q)", o.phase, o.job, o.finished)
		}
	})
	return f.found
}

func checkFinish(f *findings, s step) {
	switch o := s.after; {
	case !o.isFinal():
		f.add(s, "job %s is finished in phase %q, which is not final", o.finished, o.phase)
	case o.finished != o.job:
		f.add(s, "it has finished job %q, but its job is %q", o.finished, o.job)
	}
	checkRuns(f, s)
}

// checkRuns holds for roots: a finished job heads the list of runs, and is in it once.
func checkRuns(f *findings, s step) {
	if s.id.Kind != kindInstallation || !installation.IsRoot(s.after.raw) {
		return
	}
	runs := runsOf(s.after)
	if at := slices.Index(runs, s.after.finished); at != 0 {
		f.add(s, "job %s has ended, and the last runs are %q", s.after.finished, runs)
	} else if slices.Contains(runs[1:], s.after.finished) {
		f.add(s, "job %s is twice among the last runs", s.after.finished)
	}
	checkHistory(f, s)
}

// checkHistory holds for roots: a finished job has left its result in the revision of the spec that it used, and the newest revision comes
// first.
func checkHistory(f *findings, s step) {
	entries, _, _ := unstructured.NestedSlice(s.after.raw.Object, "status", "history")
	var later int64
	for i, entry := range entries {
		revision, _ := entry.(map[string]any)
		number, _ := revision["revision"].(int64)
		if i == 0 && revision["jobID"] == s.after.finished && revision["result"] != s.after.phase {
			f.add(s, "job %s has ended as %s, and revision %d says %v", s.after.finished, s.after.phase, number, revision["result"])
		}
		if i > 0 && number >= later {
			f.add(s, "revision %d comes before revision %d", later, number)
		}
		later = number
	}
}

func runsOf(o *object) []string {
	var ids []string
	entries, _, _ := unstructured.NestedSlice(o.raw.Object, "status", "lastRuns")
	for _, entry := range entries {
		if run, ok := entry.(map[string]any); ok {
			id, _ := run["id"].(string)
			ids = append(ids, id)
		}
	}
	return ids
}
