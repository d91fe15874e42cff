// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation_test

import (
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/testkit/share"
)

type continuousRule func(installation.Observed, installation.Decision) bool

func busyBelow(o installation.Observed) bool {
	for _, c := range o.Children {
		if c.Busy() && !o.Stuck[c.Name] {
			return true
		}
	}
	return false
}

func forced(o installation.Observed) bool { return o.Operation == lsv1alpha1.OperationForceReconcile }

// continuousRules hold for every decision whatever the facts.
var continuousRules = map[string]continuousRule{
	"a wait says why": func(_ installation.Observed, d installation.Decision) bool {
		return !d.Wait || d.Why.Code != "" && d.Why.Message != ""
	},
	"only a wait with nothing new but its reason is told late": func(o installation.Observed, d installation.Decision) bool {
		return !d.DeferStatusWrite || d.Wait && d.Next == o.Phase && len(d.Do) == 0 && !o.Moved
	},
	"success needs that everything below has succeeded with the present spec and imports": func(o installation.Observed, d installation.Decision) bool {
		if d.Next != lsv1alpha1.PhaseSucceeded {
			return true
		}
		for _, c := range o.Children {
			if c.Phase != lsv1alpha1.PhaseSucceeded || !c.UpToDate {
				return false
			}
		}
		return !busyBelow(o) && !o.Changed && o.Entered && len(o.ImportsChanged) == 0 && o.ExportsWritten
	},
	"what is busy is updated by force only": func(o installation.Observed, d installation.Decision) bool {
		return !does[installation.Prepare](d) || !busyBelow(o) || forced(o)
	},
	"what changes its flow is at rest, or is of jobs and goes": func(o installation.Observed, d installation.Decision) bool {
		for _, effect := range d.Do {
			convert, _ := effect.(installation.Convert)
			for _, c := range convert.Children {
				going := c.Deleting && c.Flow == lsv1alpha1.FlowJob
				if c.Deleting = false; c.Busy() || (o.Deleting && !going) {
					return false
				}
			}
		}
		return true
	},
	"what has nothing but another flow is neither updated nor asked for anything": func(o installation.Observed, d installation.Decision) bool {
		asleep := o.FlowOnly && o.Entered && len(o.ImportsChanged) == 0 && o.ImportsMissing == nil && o.Operation == "" &&
			o.Chosen == lsv1alpha1.FlowContinuous
		for _, c := range o.Children {
			asleep = asleep && c.Presence != installation.Gone
		}
		return !asleep || !does[installation.Prepare](d) && !does[installation.Ask](d)
	},
	"a deletion never waits for imports, nor for what only waits": func(o installation.Observed, d installation.Decision) bool {
		busy := busyBelow(o) || len(o.Successors) > 0 || o.Ignored
		for _, c := range o.Children {
			busy = busy || c.Deleting
		}
		return !o.Deleting || busy || !does[installation.Fail](d) && (len(d.Do) > 0 || d.Next == lsv1alpha1.PhaseDeleting || !o.Finalizer)
	},
	"an update needs its imports, and predecessors that are ready": func(o installation.Observed, d installation.Decision) bool {
		ready := true
		for _, p := range o.Predecessors {
			ready = ready && p.Phase == lsv1alpha1.PhaseSucceeded && p.UpToDate
		}
		return !does[installation.Prepare](d) || o.ImportsMissing == nil && (ready || forced(o) || o.Deleting)
	},
	// Otherwise whoever waits for the retry sees the failure from before it, without the request.
	"a request to retry a deletion goes when the status shows the deletion": func(o installation.Observed, d installation.Decision) bool {
		passedOn := o.Deleting && o.Finalizer && does[installation.DropOperation](d) && d.SaveFirst
		return !passedOn || o.Phase == lsv1alpha1.PhaseDeleting
	},
	"nothing is deleted while others import": func(o installation.Observed, d installation.Decision) bool {
		return !does[installation.DeleteChildren](d) || o.Deleting && (len(o.Successors) == 0 || forced(o) || o.IgnoreSuccessors)
	},
	"JOB-46 what is busy knows of the deletion before it is awaited": func(o installation.Observed, d installation.Decision) bool {
		awaits := o.DeletionAsked && d.Wait && d.Why.Code == lsv1alpha1.ReasonWaitingForSubObjects && !forced(o) &&
			(o.Deleting || !o.Phase.IsCompleted()) // Nobody waits for what is completed.
		for _, c := range o.Children {
			waits := o.Stuck[c.Name] || c.Phase == lsv1alpha1.PhasePendingDependencies
			if awaits && c.Presence == installation.Present && c.Busy() && !c.Deleting && !c.DeletionAsked && !waits {
				return false
			}
		}
		return true
	},
	"JOB-46 only what takes part in a deletion hears of it": func(o installation.Observed, d installation.Decision) bool {
		return !does[installation.Tell](d) || o.Deleting || o.DeletionAsked
	},
	"the finalizer goes when nothing is left": func(o installation.Observed, d installation.Decision) bool {
		for _, c := range o.Children {
			if does[installation.RemoveFinalizer](d) && c.Presence != installation.Gone {
				return false
			}
		}
		return !does[installation.RemoveFinalizer](d) || o.Deleting
	},
	"a suspended root begins no update": suspendedUpdates,
	"what is ignored and completed is left alone": func(o installation.Observed, d installation.Decision) bool {
		return !o.Ignored || !o.Phase.IsCompleted() || d.Wait && len(d.Do) == 0 && d.Next == ""
	},
	"only what was not asked for anything is exported without an end": func(o installation.Observed, d installation.Decision) bool {
		return !does[installation.Export](d) || afterExports(o).Next == lsv1alpha1.PhaseSucceeded
	},
	"Aborted is left on request or with a new spec": func(o installation.Observed, d installation.Decision) bool {
		for _, c := range o.Children {
			follows := !o.Entered || c.Presence == installation.Present && c.Flow == lsv1alpha1.FlowJob
			if o.Phase == lsv1alpha1.PhaseAborted && follows && d.Next == "" && !does[installation.Prepare](d) {
				return true // what is below follows the flow
			}
		}
		stays := o.Phase == lsv1alpha1.PhaseAborted && o.Own && o.Operation == "" && !o.Changed && !o.FlowOnly && !o.Deleting && o.Finalizer &&
			!o.Updated
		return !stays || o.Chosen == lsv1alpha1.FlowJob || d.Wait && len(d.Do) == 0 && d.Next == ""
	},
}

func TestCON04_CON22_CON41_RulesHoldForAllFacts(t *testing.T) {
	seen, cases := 0, share.Of()
	everyContinuous(cases, func(o installation.Observed) {
		seen++
		d := installation.Decide(o)
		for name, holds := range continuousRules {
			if !holds(o, d) {
				t.Fatalf("%s: %+v decides %+v", name, o, d)
			}
		}
		if !does[installation.Export](d) {
			return
		}
		o.ExportsWritten = true
		d = installation.Decide(o)
		for name, holds := range continuousRules {
			if !holds(o, d) {
				t.Fatalf("with its exports written, %s: %+v decides %+v", name, o, d)
			}
		}
	})
	if cases.Whole(seen) < 300_000 {
		t.Errorf("only %d combinations", seen)
	}
}

// A pass always ends, and a second one directly after it finds nothing to do: there are no endless loops.
func TestCON14_PassesEndAndAUnchangedWorldIsLeftAlone(t *testing.T) {
	n := 0
	everyContinuous(share.Of(), func(o installation.Observed) {
		wakes := !o.Finalizer && !o.Deleting || o.Operation == lsv1alpha1.OperationInterrupt ||
			o.Deleting && o.Operation == lsv1alpha1.OperationAbort
		if n++; n%23 != 0 || o.Updated || wakes {
			return // Another pass follows a pass that ends with a write to the metadata.
		}
		after, _, err := pass(o)
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
		if !after.Finalizer || after.Chosen == lsv1alpha1.FlowJob {
			return // gone, or in the other flow
		}
		after.Updated, after.Exported = false, false
		again, decisions, err := pass(after)
		if err != nil {
			t.Fatalf("again, %+v: %v", after, err)
		}
		for _, d := range decisions {
			if len(d.Do) > 0 && !does[installation.Fail](d) || again.Phase != after.Phase {
				t.Fatalf("%+v\n ends as %+v\n and then decides %+v, phase %s", o, after, d, again.Phase)
			}
		}
	})
}
