// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
)

// settled is an installation that has finished, like everything below it.
func settled(phase lsv1alpha1.Phase, change ...func(*installation.Observed)) installation.Observed {
	o := installation.Observed{Continuous: true, Chosen: lsv1alpha1.FlowContinuous, Entered: true}
	o.Phase, o.Finalizer, o.Children, o.Now = phase, true, []installation.Child{child(phase)}, noon
	for _, f := range change {
		f(&o)
	}
	return o
}

func asks(operation lsv1alpha1.Operation) func(*installation.Observed) {
	return func(o *installation.Observed) { o.Operation = operation }
}

func below(children ...installation.Child) func(*installation.Observed) {
	return func(o *installation.Observed) { o.Children = children }
}

// done returns the effects of a pass in execution order, and the phase that it ended in.
func done(o installation.Observed) (effects []string, after installation.Observed, why string) {
	after, decisions, err := pass(o)
	if err != nil {
		return []string{err.Error()}, after, ""
	}
	for _, d := range decisions {
		for _, effect := range d.Do {
			effects = append(effects, effect.String())
		}
	}
	return effects, after, decisions[len(decisions)-1].Why.Message
}

type scene struct {
	o      installation.Observed
	do     []string
	phase  lsv1alpha1.Phase
	saying string
}

func play(t *testing.T, scenes map[string]scene) {
	t.Helper()
	for name, s := range scenes {
		effects, after, why := done(s.o)
		if !slices.Equal(effects, s.do) || after.Phase != s.phase || !strings.Contains(why, s.saying) {
			t.Errorf("%s: did %q, phase %s, saying %q", name, effects, after.Phase, why)
		}
	}
}

func changed(o *installation.Observed) { o.Changed = true }

func TestCON10_CON11_CON13_CON15_Entry(t *testing.T) {
	play(t, map[string]scene{
		"ignored": {
			settled(lsv1alpha1.PhaseSucceeded, changed, func(o *installation.Observed) { o.Ignored = true }),
			nil,
			lsv1alpha1.PhaseSucceeded,
			"frozen by",
		},
		"ignored on its way": {
			settled(lsv1alpha1.PhaseProgressing, below(child(lsv1alpha1.PhaseSucceeded)), func(o *installation.Observed) { o.Ignored = true }),
			[]string{"export"},
			lsv1alpha1.PhaseSucceeded,
			"installed",
		},
		"no finalizer": {
			settled("", changed, func(o *installation.Observed) { o.Finalizer = false }),
			[]string{"add the finalizer"},
			"",
			"finalizer",
		},
		"a new spec": {
			settled(lsv1alpha1.PhaseSucceeded, changed),
			[]string{"prepare", "export"},
			lsv1alpha1.PhaseSucceeded,
			"installed",
		},
		"reconcile": {
			settled(lsv1alpha1.PhaseSucceeded, asks(lsv1alpha1.OperationReconcile)),
			[]string{"export", "remove the operation annotation"},
			lsv1alpha1.PhaseSucceeded,
			"",
		},
		"an unknown wish": {
			settled(lsv1alpha1.PhaseSucceeded, asks(lsv1alpha1.OperationInterrupt)),
			[]string{"remove the operation annotation"},
			lsv1alpha1.PhaseSucceeded,
			"no effect",
		},
	})
}

func TestCON14_CON20_CON24_StateOfWhatIsBelow(t *testing.T) {
	play(t, map[string]scene{
		"nothing new":        {settled(lsv1alpha1.PhaseSucceeded), nil, lsv1alpha1.PhaseSucceeded, "nothing has changed"},
		"nothing below":      {settled(lsv1alpha1.PhaseSucceeded, below()), nil, lsv1alpha1.PhaseSucceeded, "nothing has changed"},
		"nothing below, new": {settled("", below(), changed), []string{"prepare", "export"}, lsv1alpha1.PhaseSucceeded, "installed"},
		"something works": {
			settled(lsv1alpha1.PhaseSucceeded, below(child(lsv1alpha1.PhaseProgressing))),
			nil,
			lsv1alpha1.PhaseProgressing,
			"waiting for execution e",
		},
		"something cannot be seen": {settled(lsv1alpha1.PhaseSucceeded, below(installation.Child{
			Kind:     installation.ChildExecution,
			Name:     "e",
			Presence: installation.Unseen,
		})), nil, lsv1alpha1.PhaseProgressing, "waiting for execution e"},
		"something has failed": {
			settled(lsv1alpha1.PhaseSucceeded, below(child(lsv1alpha1.PhaseFailed))),
			nil,
			lsv1alpha1.PhaseFailed,
			"execution e is in phase Failed",
		},
		"something has recovered": {
			settled(lsv1alpha1.PhaseFailed, below(child(lsv1alpha1.PhaseSucceeded))),
			[]string{"export"},
			lsv1alpha1.PhaseSucceeded,
			"installed",
		},
		"something is gone": {settled(lsv1alpha1.PhaseSucceeded, below(installation.Child{
			Kind:     installation.ChildExecution,
			Name:     "e",
			Presence: installation.Gone,
		})), []string{"prepare"}, lsv1alpha1.PhaseProgressing, "waiting"},
		"a new spec must wait": {
			settled(lsv1alpha1.PhaseProgressing, changed, below(child(lsv1alpha1.PhaseProgressing))),
			nil,
			lsv1alpha1.PhaseProgressing,
			"the spec has changed, which takes effect afterwards",
		},
		"successors are triggered": {
			settled(
				lsv1alpha1.PhaseProgressing,
				below(child(lsv1alpha1.PhaseSucceeded)),
				func(o *installation.Observed) { o.Successors = []installation.Sibling{sibling("")} },
			),
			[]string{"export", "request a job of s"},
			lsv1alpha1.PhaseSucceeded,
			"",
		},
		"its own failure stays": {
			settled(lsv1alpha1.PhaseFailed, below(child(lsv1alpha1.PhaseSucceeded)), func(o *installation.Observed) { o.Own = true }),
			nil,
			lsv1alpha1.PhaseFailed,
			"until a reconcile is requested",
		},
	})
}

func TestCON21_CON22_CON23_Updates(t *testing.T) {
	imports := func(o *installation.Observed) { o.ImportsChanged = []string{"password"} }
	missing := func(o *installation.Observed) { o.ImportsMissing = errMissing }
	after := func(phase lsv1alpha1.Phase, change ...func(*installation.Sibling)) func(*installation.Observed) {
		return func(o *installation.Observed) { o.Predecessors = []installation.Sibling{sibling(phase, change...)} }
	}
	wait := lsv1alpha1.PhasePendingDependencies
	play(t, map[string]scene{
		"an import has changed": {
			settled(lsv1alpha1.PhaseSucceeded, imports),
			[]string{"prepare", "export"},
			lsv1alpha1.PhaseSucceeded,
			"",
		},
		"an import is missing": {
			settled(lsv1alpha1.PhaseSucceeded, changed, missing),
			[]string{"check siblings"},
			wait,
			"DataObject ns/a",
		},
		"failed, and reconcile": {
			settled(lsv1alpha1.PhaseFailed, asks(lsv1alpha1.OperationReconcile)),
			[]string{"prepare", "request reconcile of execution e", "remove the operation annotation"},
			lsv1alpha1.PhaseProgressing,
			"waiting for execution e",
		},
		"failed, and nothing": {settled(lsv1alpha1.PhaseFailed), nil, lsv1alpha1.PhaseFailed, "nothing has changed"},
		"a predecessor has failed": {
			settled(lsv1alpha1.PhaseSucceeded, changed, after(lsv1alpha1.PhaseFailed)),
			nil,
			wait,
			"installation s, which is in phase Failed",
		},
		"a predecessor is behind": {
			settled(lsv1alpha1.PhaseSucceeded, changed, after(lsv1alpha1.PhaseSucceeded, func(s *installation.Sibling) { s.UpToDate = false })),
			nil,
			wait,
			"has not processed its new spec",
		},
		"a predecessor is queued": {
			settled(
				lsv1alpha1.PhaseSucceeded,
				changed,
				after(lsv1alpha1.PhaseSucceeded, func(s *installation.Sibling) { s.Operation = lsv1alpha1.OperationReconcile }),
			),
			nil,
			wait,
			"has a pending request to reconcile",
		},
		"predecessors do not disturb": {
			settled(lsv1alpha1.PhaseSucceeded, after(lsv1alpha1.PhaseFailed)),
			nil,
			lsv1alpha1.PhaseSucceeded,
			"nothing has changed",
		},
		"all is ready": {
			settled(wait, after(lsv1alpha1.PhaseSucceeded), below(child(lsv1alpha1.PhaseSucceeded))),
			[]string{"prepare", "export"},
			lsv1alpha1.PhaseSucceeded,
			"",
		},
	})
}

func TestCON25_Abort(t *testing.T) {
	aborted := func(o *installation.Observed) { o.Own = true }
	play(t, map[string]scene{
		"on its way": {
			settled(lsv1alpha1.PhaseProgressing, asks(lsv1alpha1.OperationAbort)),
			[]string{"request abort of execution e", "remove the operation annotation"},
			lsv1alpha1.PhaseAborted,
			"aborted",
		},
		"before its status tells of what it has made": {
			settled(lsv1alpha1.PhaseProgressing, asks(lsv1alpha1.OperationAbort), func(o *installation.Observed) { o.Entered = false }),
			[]string{"enter the continuous flow", "request abort of execution e", "remove the operation annotation"},
			lsv1alpha1.PhaseAborted,
			"aborted",
		},
		"at rest": {
			settled(lsv1alpha1.PhaseSucceeded, asks(lsv1alpha1.OperationAbort)),
			[]string{"remove the operation annotation"},
			lsv1alpha1.PhaseAborted,
			"aborted",
		},
		"stays": {
			settled(lsv1alpha1.PhaseAborted, aborted, below(child(lsv1alpha1.PhaseFailed))),
			nil,
			lsv1alpha1.PhaseAborted,
			"until a reconcile is requested",
		},
		"goes on": {
			settled(lsv1alpha1.PhaseAborted, aborted, below(child(lsv1alpha1.PhaseFailed)), asks(lsv1alpha1.OperationReconcile)),
			[]string{"prepare", "request reconcile of execution e", "remove the operation annotation"},
			lsv1alpha1.PhaseProgressing,
			"",
		},
		"new spec": {
			settled(lsv1alpha1.PhaseAborted, aborted, below(child(lsv1alpha1.PhaseFailed)), changed),
			[]string{"prepare", "request reconcile of execution e"},
			lsv1alpha1.PhaseProgressing,
			"",
		},
		"aborted below": {
			settled(lsv1alpha1.PhaseSucceeded, below(child(lsv1alpha1.PhaseAborted, nested))),
			nil,
			lsv1alpha1.PhaseAborted,
			"is in phase Aborted",
		},
		"no longer aborted": {
			settled(lsv1alpha1.PhaseAborted, below(child(lsv1alpha1.PhaseSucceeded, nested))),
			[]string{"export"},
			lsv1alpha1.PhaseSucceeded,
			"",
		},
	})
}

func TestCON30_CON31_Force(t *testing.T) {
	force := asks(lsv1alpha1.OperationForceReconcile)
	failed := func(o *installation.Observed) {
		o.Predecessors = []installation.Sibling{sibling(lsv1alpha1.PhaseFailed)}
	}
	all := []string{"prepare", "request force-reconcile of execution e", "remove the operation annotation"}
	play(t, map[string]scene{
		"at rest":      {settled(lsv1alpha1.PhaseSucceeded, force), all, lsv1alpha1.PhaseProgressing, "waiting for execution e"},
		"while busy":   {settled(lsv1alpha1.PhaseProgressing, force), all, lsv1alpha1.PhaseProgressing, "waiting for execution e"},
		"dependencies": {settled(lsv1alpha1.PhaseSucceeded, force, failed), all, lsv1alpha1.PhaseProgressing, ""},
		"no imports": {
			settled(lsv1alpha1.PhaseSucceeded, force, func(o *installation.Observed) { o.ImportsMissing = errMissing }),
			[]string{"check siblings"},
			lsv1alpha1.PhasePendingDependencies,
			"DataObject ns/a",
		},
	})
}

func TestCON12_CON40_CON41_CON42_CON43_CON44_Deletion(t *testing.T) {
	gone := func(o *installation.Observed) { o.Deleting, o.DeletionAsked = true, true }
	force := asks(lsv1alpha1.OperationForceReconcile)
	marked := func(o *installation.Observed) { o.DeletionAsked = true }
	imported := func(o *installation.Observed) {
		o.Successors = []installation.Sibling{sibling(lsv1alpha1.PhaseSucceeded)}
	}
	missing := func(o *installation.Observed) { o.ImportsMissing = errMissing }
	deleting := lsv1alpha1.PhaseDeleting
	vanished := below(installation.Child{Kind: installation.ChildExecution, Name: "e", Presence: installation.Gone})
	play(t, map[string]scene{
		"nothing below": {
			settled(lsv1alpha1.PhaseSucceeded, gone, below()),
			[]string{"clean up", "remove the finalizer"},
			lsv1alpha1.PhaseSucceeded,
			"gone",
		},
		"imported": {settled(lsv1alpha1.PhaseSucceeded, gone, imported), nil, deleting, "installation s"},
		"imported, with force": {
			settled(lsv1alpha1.PhaseSucceeded, gone, imported, force),
			[]string{"delete execution e"},
			deleting,
			"waiting for the deletion of execution e",
		},
		"then it goes": {settled(deleting, gone, imported, vanished), []string{"clean up", "remove the finalizer"}, deleting, "gone"},
		"busy": {
			settled(lsv1alpha1.PhaseProgressing, gone),
			[]string{"notify execution e of the deletion"},
			deleting,
			"deletion waits until execution e is completed",
		},
		"busy, and it knows": {settled(deleting, gone, below(child(lsv1alpha1.PhaseProgressing, aware))), nil, deleting, "execution e is completed"},
		"nested, busy": {
			settled(lsv1alpha1.PhaseProgressing, marked),
			[]string{"notify execution e of the deletion"},
			lsv1alpha1.PhaseProgressing,
			"waiting for execution e",
		},
		"nested, with what is above being deleted, at rest": {settled(lsv1alpha1.PhaseFailed, marked), nil, lsv1alpha1.PhaseFailed, "changed"},
		"busy, with force": {settled(lsv1alpha1.PhaseProgressing, gone, force), []string{"delete execution e"}, deleting, ""},
		"at rest": {
			settled(lsv1alpha1.PhaseFailed, gone),
			[]string{"delete execution e"},
			deleting,
			"waiting for the deletion of execution e",
		},
		"outdated": {settled(lsv1alpha1.PhaseSucceeded, gone, changed), []string{"prepare", "delete execution e"}, deleting, ""},
		"outdated, by force": {
			settled(lsv1alpha1.PhaseSucceeded, gone, changed, force),
			[]string{"prepare", "delete execution e"},
			deleting,
			"",
		},
		"outdated, no imports": {
			settled(lsv1alpha1.PhaseSucceeded, gone, changed, missing),
			[]string{"delete execution e"},
			deleting,
			"waiting for the deletion of execution e",
		},
		"the same, with force": {
			settled(lsv1alpha1.PhaseSucceeded, gone, changed, missing, force),
			[]string{"delete execution e"},
			deleting,
			"",
		},
		"force is passed on": {
			settled(deleting, gone, imported, force, below(child(lsv1alpha1.PhaseProgressing, leaving))),
			[]string{"request force-reconcile of execution e", "remove the operation annotation"},
			deleting,
			"waiting for the deletion of execution e",
		},
		"could not be deleted": {
			settled(deleting, gone, below(child(lsv1alpha1.PhaseFailed, leaving))),
			nil,
			lsv1alpha1.PhaseFailed,
			"execution e is in phase Failed",
		},
		"asked to try again": {
			settled(lsv1alpha1.PhaseFailed, gone, below(child(lsv1alpha1.PhaseFailed, leaving)), asks(lsv1alpha1.OperationReconcile)),
			[]string{"request reconcile of execution e", "remove the operation annotation"},
			deleting,
			"waiting",
		},
		"ignored": {
			settled(lsv1alpha1.PhaseSucceeded, gone, func(o *installation.Observed) { o.Ignored = true }),
			nil,
			lsv1alpha1.PhaseSucceeded,
			"the requested deletion starts once",
		},
	})
}

// An installation that leaves the flow converts what is below, once nothing is in progress.
func TestChangingTheFlow(t *testing.T) {
	jobs := func(o *installation.Observed) { o.Chosen = lsv1alpha1.FlowJob }
	play(t, map[string]scene{
		"leaves": {
			settled(lsv1alpha1.PhaseSucceeded, jobs, changed),
			[]string{"change the flow of execution e to Job", "leave the continuous flow"},
			lsv1alpha1.PhaseSucceeded,
			"Job",
		},
		"not on its way":     {settled(lsv1alpha1.PhaseProgressing, jobs), nil, lsv1alpha1.PhaseProgressing, "waiting for execution e"},
		"nor with busy ones": {settled(lsv1alpha1.PhaseFailed, jobs, below(child(""))), nil, lsv1alpha1.PhaseFailed, "when these are finished"},
		"enters": {
			settled(
				lsv1alpha1.PhaseSucceeded,
				changed,
				below(child(lsv1alpha1.PhaseSucceeded, ofJobs)),
				func(o *installation.Observed) { o.Entered = false },
			),
			[]string{"prepare"},
			lsv1alpha1.PhaseProgressing,
			"waiting for execution e",
		},
	})
}

func TestTheFlowIsNotChangedOnTheWay(t *testing.T) {
	for _, test := range []struct {
		chosen   lsv1alpha1.Flow
		phase    lsv1alpha1.Phase
		finished string
		follows  lsv1alpha1.Flow
		told     bool
	}{
		{lsv1alpha1.FlowJob, lsv1alpha1.PhaseProgressing, "job", lsv1alpha1.FlowContinuous, true},
		{lsv1alpha1.FlowContinuous, lsv1alpha1.PhaseProgressing, "", lsv1alpha1.FlowJob, true},
		{lsv1alpha1.FlowContinuous, lsv1alpha1.PhaseProgressing, "job", lsv1alpha1.FlowContinuous, false},
		{lsv1alpha1.FlowJob, lsv1alpha1.PhaseSucceeded, "job", lsv1alpha1.FlowJob, false},
		{lsv1alpha1.FlowContinuous, lsv1alpha1.PhaseFailed, "job", lsv1alpha1.FlowContinuous, false},
	} {
		inst := &lsv1alpha1.Installation{}
		inst.Spec.Flow, inst.Status.Phase, inst.Status.JobID, inst.Status.JobIDFinished = test.chosen, test.phase, "job", test.finished
		inst.Status.Conditions = []lsv1alpha1.Condition{{Type: installation.ConditionFlow, LastTransitionTime: metav1.NewTime(noon)}}
		installation.Settle(inst, installation.NewObserved(installation.Snapshot{
			Installation: inst,
			Now:          noon,
		}), installation.Decision{Wait: true}, nil)
		noted, told := false, false
		for _, c := range inst.Status.Conditions {
			noted = noted || c.Type == installation.ConditionFlow
			told = told || c.Type == installation.ConditionFlow && strings.Contains(c.Message, "spec.flow cannot change to "+string(test.chosen))
		}
		if got := installation.FlowOf(inst); got != test.follows || told != test.told || noted != told {
			t.Errorf("%+v: follows %s, conditions %+v", test, got, inst.Status.Conditions)
		}
	}
}

// What is below is busy unless its phase is completed and refers to its current spec.
func TestCON01_CON02_CON04_CompletedAndUpToDateIsNotBusy(t *testing.T) {
	for _, phase := range everyPhase {
		completed := slices.Contains([]lsv1alpha1.Phase{lsv1alpha1.PhaseSucceeded, lsv1alpha1.PhaseFailed, lsv1alpha1.PhaseAborted}, phase)
		if got := child(phase).Busy(); got == completed {
			t.Errorf("phase %q, up to date: busy %v", phase, got)
		}
		if !child(phase, behind).Busy() {
			t.Errorf("phase %q, not up to date: not busy", phase)
		}
	}
}
