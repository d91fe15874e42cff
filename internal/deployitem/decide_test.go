// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployitem_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/deployitem"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/run"
)

var (
	noon   = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	phases = []lsv1alpha1.Phase{
		"", lsv1alpha1.PhaseInit, lsv1alpha1.PhaseCleanupOrphaned, lsv1alpha1.PhaseObjectsCreated, lsv1alpha1.PhaseProgressing,
		lsv1alpha1.PhaseCompleting, lsv1alpha1.PhaseSucceeded, lsv1alpha1.PhaseFailed, lsv1alpha1.PhaseInitDelete,
		lsv1alpha1.PhaseTriggerDelete, lsv1alpha1.PhaseDeleting, lsv1alpha1.PhaseDeleteFailed, lsv1alpha1.PhaseAborted,
	}
	jobs    = []run.Job{{}, {ID: "b", FinishedID: "b"}, {ID: "b", FinishedID: "a"}}
	answers = []*deployitem.Answer{
		nil, {Done: true}, {Done: true, Exports: []byte("{}")}, {Waiting: decision.Reason{Code: "WaitingForRain"}}, {Err: errors.New("no")},
	}
	repairs = []time.Time{{}, noon.Add(-time.Minute), noon.Add(time.Minute)}
	targets = []deployitem.TargetState{deployitem.TargetNone, deployitem.TargetMissing, deployitem.TargetThere}
)

// everything calls check with every combination of facts.
func everything(check func(deployitem.Observed)) {
	const switches = 11
	for _, phase := range phases {
		for _, job := range jobs {
			if job.ID == "" && phase != "" {
				continue // Without a job there is no phase.
			}
			for _, answer := range answers {
				for _, target := range targets {
					for _, repair := range repairs {
						if job.Running() && !repair.IsZero() {
							continue // Repairs are for finished items.
						}
						for bits := range 1 << switches {
							check(observation(bits, deployitem.Observed{Phase: phase, Job: job, Answer: answer, Target: target, RepairAt: repair, Now: noon}))
						}
					}
				}
			}
		}
	}
}

func observation(bits int, o deployitem.Observed) deployitem.Observed {
	on := func(bit int) bool { return bits&(1<<bit) != 0 }
	o.Mine, o.Deleting, o.WithoutUninstall, o.Finalizer = on(0), on(1), on(2), on(3)
	o.DeletionAsked = o.Deleting || on(4)
	o.Unchanged, o.ClusterMayBeGone, o.Exported, o.Intended, o.Stored = on(4), on(5), on(6), on(7), on(8)
	if on(9) {
		o.Problem = errors.New("bad")
	}
	if on(10) {
		o.Deadline, o.Ended = noon, true
	}
	return o
}

func does[E deployitem.Effect](d deployitem.Decision) bool {
	return slices.ContainsFunc(d.Do, func(e deployitem.Effect) bool { _, ok := e.(E); return ok })
}

// touches reports whether a decision changes the target.
func touches(d deployitem.Decision) bool {
	return does[deployitem.Deploy](d) || does[deployitem.Delete](d) || does[deployitem.Repair](d)
}

// rules hold for every decision, whatever the facts.
var rules = map[string]func(deployitem.Observed, deployitem.Decision) bool{
	"what is not mine is left alone": func(o deployitem.Observed, d deployitem.Decision) bool {
		return o.Mine || len(d.Do) == 0 && d.Next == "" && d.Wait
	},
	"a finished item keeps its phase, and nothing is deployed or deleted": func(o deployitem.Observed, d deployitem.Decision) bool {
		return o.Job.Running() ||
			d.Next == "" && !does[deployitem.Deploy](d) && !does[deployitem.Delete](d) && !does[deployitem.RemoveFinalizer](d)
	},
	"a repair never runs beside a job": func(o deployitem.Observed, d deployitem.Decision) bool {
		return !does[deployitem.Repair](d) || !o.Job.Running() && !o.Ended && !o.RepairAt.IsZero() && !o.RepairAt.After(o.Now)
	},
	"the target is touched only after the pick-up is stored": func(o deployitem.Observed, d deployitem.Decision) bool {
		return !does[deployitem.Deploy](d) && !does[deployitem.Delete](d) || o.Stored || d.SaveFirst
	},
	"nothing is deployed that was not intended first": func(o deployitem.Observed, d deployitem.Decision) bool {
		return !does[deployitem.Deploy](d) || o.Intended
	},
	"a target that is not there is not touched": func(o deployitem.Observed, d deployitem.Decision) bool {
		return !touches(d) || o.Target != deployitem.TargetMissing
	},
	"without uninstall nothing happens here": func(o deployitem.Observed, d deployitem.Decision) bool {
		return !(o.Deleting && o.WithoutUninstall) || !o.Job.Running() || len(d.Do) == 0 && d.Next == ""
	},
	"only what is being deleted is removed from the target": func(o deployitem.Observed, d deployitem.Decision) bool {
		return !does[deployitem.Delete](d) || o.Deleting && o.Phase.IsDeletion()
	},
	"the finalizer goes only when the target is clean": func(o deployitem.Observed, d deployitem.Decision) bool {
		clean := o.Answer != nil && o.Answer.Done && o.Answer.Err == nil || o.Target == deployitem.TargetMissing && o.ClusterMayBeGone
		return !does[deployitem.RemoveFinalizer](d) || o.Deleting && o.Phase.IsDeletion() && clean
	},
	"success needs a deployer that says so, or an unchanged item": func(o deployitem.Observed, d deployitem.Decision) bool {
		done := o.Answer != nil && o.Answer.Done && o.Answer.Err == nil
		return d.Next != lsv1alpha1.PhaseSucceeded || done || o.Unchanged && o.Phase == lsv1alpha1.PhaseInit
	},
	"nothing is done once the time is up": func(o deployitem.Observed, d deployitem.Decision) bool {
		late := !o.Deadline.IsZero() && !o.Now.Before(o.Deadline)
		return !late || !does[deployitem.Deploy](d) && !does[deployitem.Delete](d)
	},
	"a wait says why": func(_ deployitem.Observed, d deployitem.Decision) bool {
		return !d.Wait || d.Why.Code != "" && d.Why.Message != ""
	},
	"a decision that does not wait does something": func(_ deployitem.Observed, d deployitem.Decision) bool {
		return d.Wait || len(d.Do) > 0 || d.Next != ""
	},
	"JOB-46 a job that waits for its target ends when the deletion is asked for": func(o deployitem.Observed, d deployitem.Decision) bool {
		late := !o.Deadline.IsZero() && !o.Now.Before(o.Deadline)
		waits := o.Mine && o.Job.Running() && o.Phase == lsv1alpha1.PhaseProgressing && o.Target == deployitem.TargetMissing &&
			o.Answer == nil &&
			!late
		return !waits || !o.DeletionAsked || o.Deleting && o.WithoutUninstall || does[deployitem.Fail](d)
	},
	"JOB-46 a deletion that waits for its target names the way out": func(o deployitem.Observed, d deployitem.Decision) bool {
		return d.Why.Code != lsv1alpha1.ReasonNoTargetFound || !o.Deleting || strings.Contains(d.Why.Message, "--without-uninstall")
	},
	"an item that is broken is not worked on": func(o deployitem.Observed, d deployitem.Decision) bool {
		return o.Problem == nil || !touches(d)
	},
}

func TestRulesHoldForAllFacts(t *testing.T) {
	broken := map[string]int{}
	seen := 0
	everything(func(o deployitem.Observed) {
		seen++
		d := deployitem.Decide(o)
		for name, holds := range rules {
			if !holds(o, d) {
				if broken[name]++; broken[name] == 1 {
					t.Errorf("%s: %+v decides %+v", name, o, d)
				}
			}
		}
	})
	if seen < 500_000 {
		t.Errorf("only %d combinations were tried", seen)
	}
}

// An error that says that the target is unreachable ends a job that deploys once the deletion is requested, but none that deletes: an
// unreachable target is no reason to leave behind what was deployed.
func TestJOB46_CON44_AnUnreachableTarget(t *testing.T) {
	away := errors.New("connection refused")
	for name, c := range map[string]struct {
		observed    deployitem.Observed
		unreachable bool
		ends        bool
	}{
		"no deletion was requested": {deployitem.Observed{Phase: lsv1alpha1.PhaseProgressing}, true, false},
		"asked for above":           {deployitem.Observed{Phase: lsv1alpha1.PhaseProgressing, DeletionAsked: true}, true, true},
		"asked for here":            {deployitem.Observed{Phase: lsv1alpha1.PhaseProgressing, DeletionAsked: true, Deleting: true}, true, true},
		"another error":             {deployitem.Observed{Phase: lsv1alpha1.PhaseProgressing, DeletionAsked: true}, false, false},
		"being deleted":             {deployitem.Observed{Phase: lsv1alpha1.PhaseDeleting, DeletionAsked: true, Deleting: true}, true, false},
		"continuous":                {deployitem.Observed{Phase: lsv1alpha1.PhaseProgressing, DeletionAsked: true, Continuous: true}, true, true},
	} {
		err := c.observed.Overtaken(away, c.unreachable)
		if ends := failure.KindOf(err) == failure.Terminal; ends != c.ends || !errors.Is(err, away) {
			t.Errorf("%s: %v", name, err)
		}
	}
	o := deployitem.Observed{
		Mine:       true,
		Phase:      lsv1alpha1.PhaseDeleting,
		Job:        jobs[2],
		Deleting:   true,
		Finalizer:  true,
		Target:     deployitem.TargetThere,
		TargetName: "ns/east",
		Root:       "shop",
		Now:        noon,
	}
	o.Answer = &deployitem.Answer{Err: away, Unreachable: true}
	d := deployitem.Decide(o)
	if does[deployitem.RemoveFinalizer](d) {
		t.Errorf("the finalizer goes: decided %+v", d)
	}
	for _, word := range []string{"connection refused", "ns/east", "espalier delete shop --without-uninstall"} {
		if !strings.Contains(d.Why.Message, word) {
			t.Errorf("the reason lacks %q: %s", word, d.Why.Message)
		}
	}
}

// Each rule must be able to fail, or it proves nothing.
func TestRulesCanBeBroken(t *testing.T) {
	every := []deployitem.Decision{
		{
			Do:   []deployitem.Effect{deployitem.Deploy{}, deployitem.Delete{}, deployitem.Repair{}, deployitem.RemoveFinalizer{}},
			Next: lsv1alpha1.PhaseSucceeded,
		},
		{}, {Wait: true}, {Wait: true, Why: decision.Reason{Code: lsv1alpha1.ReasonNoTargetFound}},
	}
	for name, holds := range rules {
		breakable := false
		for bits := range 1 << 11 {
			for _, d := range every {
				o := observation(bits, deployitem.Observed{
					Phase:  lsv1alpha1.PhaseProgressing,
					Job:    jobs[2],
					Target: deployitem.TargetMissing,
					Now:    noon,
				})
				breakable = breakable || !holds(o, d)
				o.Job = jobs[1]
				breakable = breakable || !holds(o, d)
			}
		}
		if !breakable {
			t.Errorf("nothing breaks the rule that %s", name)
		}
	}
}
