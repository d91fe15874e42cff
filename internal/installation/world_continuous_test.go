// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation_test

import (
	"errors"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/testkit/share"
)

var operations = []lsv1alpha1.Operation{
	"", lsv1alpha1.OperationReconcile, lsv1alpha1.OperationForceReconcile, lsv1alpha1.OperationAbort, lsv1alpha1.OperationInterrupt,
}

// child is an execution in the continuous flow.
func child(phase lsv1alpha1.Phase, change ...func(*installation.Child)) installation.Child {
	c := installation.Child{
		Kind:     installation.ChildExecution,
		Name:     "e",
		Presence: installation.Present,
		Phase:    phase,
		UpToDate: true,
		Flow:     lsv1alpha1.FlowContinuous,
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func behind(c *installation.Child)  { c.UpToDate = false }
func leaving(c *installation.Child) { c.Deleting = true }
func nested(c *installation.Child)  { c.Kind, c.Name = installation.ChildInstallation, "n" }
func stuck(c *installation.Child)   { c.Kind, c.Name = installation.ChildInstallation, "stuck" }
func aware(c *installation.Child)   { c.DeletionAsked = true }
func ofJobs(c *installation.Child)  { c.Flow = lsv1alpha1.FlowJob }
func queued(c *installation.Child)  { c.Operation = lsv1alpha1.OperationReconcile }

// broods are the possible sets of children of an installation.
var broods = [][]installation.Child{
	nil,
	{{Kind: installation.ChildExecution, Name: "e", Presence: installation.Unseen}},
	{{Kind: installation.ChildExecution, Name: "e", Presence: installation.Gone}},
	{child("")},
	{child(lsv1alpha1.PhaseSucceeded)},
	{child(lsv1alpha1.PhaseFailed)},
	{child(lsv1alpha1.PhaseProgressing)},
	{child(lsv1alpha1.PhaseSucceeded, behind)},
	{child(lsv1alpha1.PhaseSucceeded, queued)},
	{child(lsv1alpha1.PhaseSucceeded, ofJobs)},
	{child("", ofJobs, behind)},
	{child(lsv1alpha1.PhaseFailed, ofJobs, behind), child(lsv1alpha1.PhaseSucceeded, nested)},
	{child(lsv1alpha1.PhaseSucceeded, ofJobs, leaving)},
	{child(lsv1alpha1.PhaseFailed, nested), child(lsv1alpha1.PhasePendingDependencies, stuck)},
	{child(lsv1alpha1.PhaseDeleting, leaving)},
	{child(lsv1alpha1.PhaseFailed, leaving)},
	{child(lsv1alpha1.PhaseSucceeded), child(lsv1alpha1.PhaseAborted, nested)},
	{child(lsv1alpha1.PhaseFailed), child(lsv1alpha1.PhasePendingDependencies, nested)},
	{child(lsv1alpha1.PhaseProgressing, aware), child(lsv1alpha1.PhaseProgressing, nested)},
	{child(lsv1alpha1.PhaseSucceeded), child(lsv1alpha1.PhaseSucceeded, nested)},
	{child(lsv1alpha1.PhaseFailed, leaving), child(lsv1alpha1.PhaseSucceeded, nested)},
}

func sibling(phase lsv1alpha1.Phase, change ...func(*installation.Sibling)) installation.Sibling {
	s := installation.Sibling{Name: "s", Phase: phase, Continuous: true, UpToDate: true}
	for _, f := range change {
		f(&s)
	}
	return s
}

// surroundings are the possible siblings.
var surroundings = []installation.Observed{
	{},
	{Predecessors: []installation.Sibling{sibling(lsv1alpha1.PhaseSucceeded)}},
	{Predecessors: []installation.Sibling{sibling(lsv1alpha1.PhaseFailed)}},
	{Predecessors: []installation.Sibling{sibling(lsv1alpha1.PhaseSucceeded, func(s *installation.Sibling) { s.UpToDate = false })}},
	{Successors: []installation.Sibling{sibling(lsv1alpha1.PhaseSucceeded)}},
	{Successors: []installation.Sibling{sibling(lsv1alpha1.PhaseSucceeded)}, IgnoreSuccessors: true},
	{DeletionAsked: true},
}

var errMissing = error(&failure.Wait{Reason: lsv1alpha1.ReasonWaitingForImports, For: "DataObject ns/a"})

const switches = 11

var oneStuck = map[string]bool{"stuck": true}

func facts(bits int, o installation.Observed) installation.Observed {
	on := func(bit int) bool { return bits&(1<<bit) != 0 }
	o.Deleting, o.Finalizer, o.Ignored, o.Changed, o.Entered, o.Updated = on(0), on(1), on(2), on(3), on(4), on(5)
	o.Continuous, o.Chosen, o.Now, o.DeletionAsked = true, lsv1alpha1.FlowContinuous, noon, o.DeletionAsked || o.Deleting
	if on(6) {
		o.ImportsChanged = []string{"a"}
	}
	if on(7) {
		o.ImportsMissing = errMissing
	}
	if on(8) {
		o.Chosen = lsv1alpha1.FlowJob
	}
	// The child with this name, whichever it is, waits for another one that has failed.
	o.Stuck = oneStuck
	o.FlowOnly = on(10) && o.Phase.IsCompleted() && !o.Changed
	o.Own = on(9) && (o.Phase == lsv1alpha1.PhaseFailed || o.Phase == lsv1alpha1.PhaseAborted)
	return o
}

// telling excludes combinations in which a fact does not matter, because another combination represents them.
func telling(bits int, o installation.Observed) bool {
	switch {
	case len(o.Predecessors) > 0 && o.Deleting, o.IgnoreSuccessors && !o.Deleting:
		return false
	case o.Updated && o.Phase != lsv1alpha1.PhaseProgressing && o.Phase != lsv1alpha1.PhaseDeleting:
		return false
	case o.Ignored && !o.Phase.IsCompleted():
		return false
	case o.FlowOnly && (o.Updated || o.Ignored || !o.Finalizer || o.Deleting):
		return false
	default:
		return o.Own == (bits&(1<<9) != 0) && o.FlowOnly == (bits&(1<<10) != 0)
	}
}

// everyContinuous calls a function with the combinations of facts that the given cases select.
func everyContinuous(cases *share.Cases, call func(installation.Observed)) {
	for _, phase := range everyPhase {
		for _, operation := range operations {
			for _, family := range broods {
				for _, around := range surroundings {
					for bits := range 1 << switches {
						if !cases.Try() {
							continue
						}
						o := around
						o.Operation, o.Phase, o.Children = operation, phase, family
						if o = facts(bits, o); telling(bits, o) {
							call(o)
						}
					}
				}
			}
		}
	}
}

// act applies effects to the facts.
func act(o installation.Observed, effect installation.Effect) (installation.Observed, error) {
	change := func(children []installation.Child, change func(*installation.Child)) {
		for _, c := range children {
			o = o.With(c, change)
		}
	}
	switch e := effect.(type) {
	case installation.AddFinalizer:
		o.Finalizer = true
	case installation.RemoveFinalizer:
		o.Finalizer = false
	case installation.DropOperation:
		o.Operation = ""
	case installation.Fail:
		return o, e.Err
	case installation.Prepare:
		o.Prepared = &installation.Prepared{Generation: 1, ConfigGeneration: "c"}
		change(o.Children, func(c *installation.Child) {
			if c.Presence == installation.Gone {
				*c = child("", behind)
			}
			if c.Flow != lsv1alpha1.FlowContinuous {
				c.Flow, c.UpToDate = lsv1alpha1.FlowContinuous, false
			}
		})
	case installation.Ask:
		change(e.Children, func(c *installation.Child) { c.Operation = e.Operation })
	case installation.Convert:
		change(e.Children, func(c *installation.Child) { c.Flow, c.UpToDate = e.Flow, false })
	case installation.Tell:
		change(e.Children, func(c *installation.Child) { c.DeletionAsked = true })
	case installation.DeleteChildren:
		change(e.Children, func(c *installation.Child) {
			c.WithoutUninstall = o.WithoutUninstall
			if !c.Deleting {
				c.Deleting, c.Presence = true, installation.Unseen
			}
		})
	}
	return o, nil
}

var errEndless = errors.New("no end")

// concrete returns the effects of a decision, with an effect replaced by its result when it is executed.
func concrete(o installation.Observed, effect installation.Effect) []installation.Effect {
	if _, ok := effect.(installation.TellOfUpdate); !ok {
		return []installation.Effect{effect}
	}
	if ask := o.AskedByUpdate(); len(ask.Children) > 0 {
		return []installation.Effect{ask}
	}
	return nil
}

// pass does what the loop does, and returns the facts at its end and all decisions, with the effects that they had.
func pass(o installation.Observed) (installation.Observed, []installation.Decision, error) {
	inst := &lsv1alpha1.Installation{}
	inst.Generation = 1
	inst.Spec.Flow, inst.Status.Phase = o.Chosen, o.Phase
	if !o.Changed && !o.FlowOnly {
		inst.Status.ObservedGeneration = 1
	}
	if o.Entered {
		inst.Status.ConfigGeneration = "c"
	}
	var all []installation.Decision
	for range 12 {
		d := installation.Decide(o)
		had, err := d, error(nil)
		had.Do = nil
		for _, planned := range d.Do {
			for _, effect := range concrete(o, planned) {
				had.Do = append(had.Do, effect)
				if o, err = act(o, effect); err != nil {
					break
				}
			}
		}
		all = append(all, had)
		o = installation.Settle(inst, o, d, err)
		if d.Wait || err != nil {
			return o, all, nil
		}
	}
	return o, all, errEndless
}
