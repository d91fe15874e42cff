// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// oneJobAtATime holds for every write that changes the current job of an object.
func oneJobAtATime(history testkit.History) []Violation {
	f := &findings{rule: "I2"}
	had := map[types.UID][]string{}
	replay(history, func(s step) {
		if s.after == nil || !s.after.runs() || !s.changed(jobOf) || s.after.job == "" {
			return
		}
		o, uid := s.after, s.after.raw.GetUID()
		if s.before != nil && !s.before.isFinished() {
			f.add(s, "job %s begins while job %s runs in phase %q", o.job, s.before.job, s.before.phase)
		}
		if slices.Contains(had[uid], o.job) {
			f.add(s, "job %s comes back", o.job)
		}
		had[uid] = append(had[uid], o.job)
		if id, found := o.parent(); found {
			checkOrigin(f, s, id)
		}
	})
	return f.found
}

func checkOrigin(f *findings, s step, id testkit.ObjectID) {
	parent := s.world[id]
	switch {
	case parent == nil:
		f.add(s, "it gets job %s, and its parent %s does not exist", s.after.job, id)
	case parent.job != s.after.job:
		f.add(s, "it gets job %s, and its parent %s has job %q", s.after.job, id, parent.job)
	}
}

// oneJobPerRequest compares the requests of each root with the jobs that it starts. A deletion is a request, too. A request is lost if the
// root is finally at rest and the job never came.
func oneJobPerRequest(history testkit.History) []Violation {
	f := &findings{rule: "I4"}
	roots := map[types.UID]*credit{}
	replay(history, func(s step) {
		o := s.after
		if s.id.Kind != kindInstallation || o == nil || o.isContinuous() {
			return
		}
		if _, nested := o.parent(); nested {
			return
		}
		uid := o.raw.GetUID()
		if roots[uid] == nil {
			roots[uid] = &credit{}
		}
		roots[uid].follow(f, s)
	})
	replayEnd(history, func(s step) {
		c := roots[s.after.raw.GetUID()]
		if c != nil && c.requests > 0 && s.after.isFinished() && operationOf(s.after) == "" {
			f.add(s, "%d requests have started no job", c.requests)
		}
	})
	return f.found
}

// credit is what a root may start.
type credit struct {
	requests int
	deletion bool // it has started the job that its deletion requires
}

func (c *credit) follow(f *findings, s step) {
	c.count(s)
	if !s.changed(jobOf) || s.after.job == "" {
		return
	}
	switch {
	case s.after.deleting() && !c.deletion:
		c.deletion = true
	case c.requests > 0:
		c.requests--
	default:
		f.add(s, "job %s begins, and no request for it exists", s.after.job)
	}
}

// count counts a new request, and one whose author has changed his mind.
func (c *credit) count(s step) {
	const reconcile = string(lsv1alpha1.OperationReconcile)
	was, now := "", operationOf(s.after)
	if s.before != nil {
		was = operationOf(s.before)
	}
	switch {
	case was == now:
	case now == reconcile:
		c.requests++
	case was == reconcile && now != "":
		c.requests--
	}
}

func operationOf(o *object) string { return o.annotation(lsv1alpha1.OperationAnnotation) }

// replayEnd visits the last state of each object that exists at the end.
func replayEnd(history testkit.History, visit func(step)) {
	last := map[testkit.ObjectID]step{}
	replay(history, func(s step) { last[s.id] = s })
	var ids []testkit.ObjectID
	for id, s := range last {
		if s.after != nil {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, compareIDs)
	for _, id := range ids {
		visit(last[id])
	}
}
