// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution_test

import (
	"errors"
	"fmt"
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/failure"
)

// In these facts, the execution has generation 2, and all objects have generation 3.
const (
	executionGeneration int64 = 2
	objectGeneration    int64 = 3
)

// shape is a possible situation of a deploy item of the spec.
type shape struct {
	name  string
	state execution.State
	// recorded are the generations of the execution and of the object at the last update; nil if there was none.
	recorded *[2]int64
	// writes says that the object does not match the spec, differs that its spec does not, onlyFlow that only its flow does not.
	writes, differs, onlyFlow, replaced bool
}

var (
	present = &[2]int64{executionGeneration, objectGeneration}
	former  = &[2]int64{executionGeneration - 1, objectGeneration}
	touched = &[2]int64{executionGeneration, objectGeneration - 1}
	redo    = &[2]int64{}
)

var kinds = []shape{
	{name: "absent", state: execution.StateAbsent, writes: true, differs: true},
	{name: "deployed", state: execution.StateSucceeded, recorded: present},
	{name: "broken", state: execution.StateFailed, recorded: present},
	{name: "in work", state: execution.StateRunning, recorded: present},
	{name: "of a former spec", state: execution.StateSucceeded, recorded: former, writes: true, differs: true},
	{name: "to be done again", state: execution.StateSucceeded, recorded: redo},
	{name: "failed with a former spec", state: execution.StateFailed, recorded: former, writes: true, differs: true},
	// The ones below are not combined with others.
	{name: "unseen", state: execution.StateUnseen, recorded: present},
	{name: "vanished", state: execution.StateAbsent, recorded: present, writes: true, differs: true},
	{name: "as it was", state: execution.StateSucceeded, recorded: former},
	{name: "edited", state: execution.StateSucceeded, recorded: touched, writes: true, differs: true},
	{name: "edited and in work", state: execution.StateRunning, recorded: touched, writes: true, differs: true},
	{name: "relabelled", state: execution.StateSucceeded, recorded: former, writes: true},
	{name: "of another flow", state: execution.StateSucceeded, writes: true, differs: true, onlyFlow: true},
	{name: "failed in another flow", state: execution.StateFailed, writes: true, differs: true, onlyFlow: true},
	{name: "failed, to be done again", state: execution.StateFailed, recorded: redo},
	{name: "replaced", state: execution.StateAbsent, writes: true, differs: true, replaced: true},
}

// paired is how many kinds are combined with each other.
const paired = 7

func (s shape) item(name string, dependsOn ...string) execution.Item {
	item := execution.Item{
		Name: name, DependsOn: dependsOn, State: s.state, Replaced: s.replaced, SpecDiffers: s.differs, OnlyFlow: s.onlyFlow,
	}
	if s.state != execution.StateAbsent && s.state != execution.StateUnseen {
		item.Flow, item.Current = lsv1alpha1.FlowContinuous, true
		item.Object = execution.Object{Name: "e-" + name, UID: "u", Version: "1", Generation: objectGeneration}
	}
	if s.writes {
		item.Write = &lsv1alpha1.DeployItem{}
		item.Write.Name = "e-" + name
	}
	if s.onlyFlow {
		item.Flow = lsv1alpha1.FlowJob
	}
	if s.state == execution.StateRunning {
		item.CutShort = &lsv1alpha1.DeployItemStatus{}
	}
	return item
}

// spec is a list of deploy items and what is recorded of them.
type spec struct {
	wanted      []execution.Item
	generations []lsv1alpha1.DeployItemGeneration
}

func (s spec) with(sh shape, name string, dependsOn ...string) spec {
	s.wanted = append(slices.Clone(s.wanted), sh.item(name, dependsOn...))
	if sh.recorded != nil {
		s.generations = append(slices.Clone(s.generations), lsv1alpha1.DeployItemGeneration{
			Name: name, ExecutionGeneration: sh.recorded[0], DeployItemGeneration: sh.recorded[1],
		})
	}
	return s
}

// everySpec returns specs without items, with one item of each shape, and with an item that depends on another one.
func everySpec() []spec {
	all := []spec{{}}
	for _, s := range kinds {
		all = append(all, spec{}.with(s, "a"))
	}
	for _, a := range kinds[:paired] {
		for _, b := range kinds[:paired] {
			all = append(all, spec{}.with(a, "a").with(b, "b", "a"))
		}
	}
	return all
}

func orphanedItem(name string, change func(*execution.Item), dependsOn ...string) execution.Item {
	i := execution.Item{
		Name: name, DependsOn: dependsOn, State: execution.StateIdle, Flow: lsv1alpha1.FlowContinuous,
		Object: execution.Object{Name: "e-" + name, UID: "u", Version: "1", Generation: objectGeneration},
	}
	if change != nil {
		change(&i)
	}
	return i
}

func goes(i *execution.Item)  { i.Terminating, i.State = true, execution.StateRunning }
func stays(i *execution.Item) { i.Terminating, i.State = true, execution.StateFailed }

// departures are the objects that must be deleted.
var departures = [][]execution.Item{
	nil,
	{orphanedItem("x", nil)},
	{orphanedItem("x", goes)},
	{orphanedItem("x", stays)},
	{orphanedItem("x", nil), orphanedItem("y", nil, "x")},
	{orphanedItem("x", nil), orphanedItem("y", goes, "x")},
	{orphanedItem("x", nil), orphanedItem("y", stays, "x")},
}

var executionPhases = []lsv1alpha1.Phase{
	"", lsv1alpha1.PhaseInit, lsv1alpha1.PhaseProgressing, lsv1alpha1.PhaseDeleting, lsv1alpha1.PhaseSucceeded, lsv1alpha1.PhaseFailed,
}

var operations = []lsv1alpha1.Operation{
	"", lsv1alpha1.OperationReconcile, lsv1alpha1.OperationForceReconcile, lsv1alpha1.OperationAbort, lsv1alpha1.OperationInterrupt,
}

var errInvalid = failure.Terminalf(failure.Details{Reason: "Invalid"}, "a depends on itself")

const executionSwitches = 9

// executionFacts sets the boolean facts, and reports whether that is a distinct combination.
func executionFacts(bits int, o execution.Observed) (execution.Observed, bool) {
	on := func(bit int) bool { return bits&(1<<bit) != 0 }
	o.UpToDate, o.Accepted, o.Own, o.Aborted, o.Complete = on(0), on(1), on(2), on(3), on(4)
	o.Chosen, o.Finalizer, o.Ignored = lsv1alpha1.FlowContinuous, !on(5), on(6)
	if on(7) {
		o.Chosen = lsv1alpha1.FlowJob
	}
	if on(8) {
		o.Invalid = errInvalid
	}
	needsAll := o.Deleted || o.Operation == lsv1alpha1.OperationAbort
	switch {
	case o.Accepted && (o.Operation == "" || o.Deleted),
		o.Own && o.Phase != lsv1alpha1.PhaseFailed,
		o.Aborted && !o.Own,
		o.Complete && !needsAll:
		return o, false
	case (o.Ignored || !o.Finalizer) && (o.Accepted || o.Own || o.Invalid != nil || o.Complete):
		return o, false
	case o.Invalid != nil && (o.Deleted || o.Chosen == lsv1alpha1.FlowJob):
		return o, false
	default:
		return o, true
	}
}

// everyExecution calls a function with all combinations of facts.
func everyExecution(call func(execution.Observed)) {
	specs := everySpec()
	for _, phase := range executionPhases {
		for _, operation := range operations {
			for _, orphans := range departures {
				for _, s := range specs {
					everyCircumstance(phase, operation, func(o execution.Observed) {
						o.Orphaned, o.Wanted, o.Generations = orphans, s.wanted, s.generations
						call(o)
					}, false)
				}
				everyCircumstance(phase, operation, func(o execution.Observed) {
					o.Orphaned = orphans
					call(o)
				}, true)
			}
		}
	}
}

func everyCircumstance(phase lsv1alpha1.Phase, operation lsv1alpha1.Operation, call func(execution.Observed), deleted bool) {
	for bits := range 1 << executionSwitches {
		o := execution.Observed{Operation: operation, Generation: executionGeneration}
		o.Continuous, o.Phase, o.Deleted, o.Now = true, phase, deleted, noon
		if o, telling := executionFacts(bits, o); telling {
			call(o)
		}
	}
}

// concerned returns the items that effects of one type concern.
func concerned[E execution.Effect](d execution.Decision, items func(E) []execution.Item) []execution.Item {
	var all []execution.Item
	for _, effect := range d.Do {
		if e, ok := effect.(E); ok {
			all = append(all, items(e)...)
		}
	}
	return all
}

func doesTo[E execution.Effect](d execution.Decision) bool {
	return slices.ContainsFunc(d.Do, func(e execution.Effect) bool { _, ok := e.(E); return ok })
}

var errNoEnd = errors.New("no end")

// passOfExecution does what the loop does, and returns the facts at its end and all decisions.
func passOfExecution(o execution.Observed) (execution.Observed, []execution.Decision, error) {
	e := &lsv1alpha1.Execution{}
	e.Generation, e.Spec.Flow, e.Status.Phase = o.Generation, o.Chosen, o.Phase
	e.Status.DeployItemGenerations = o.Generations
	if o.UpToDate {
		e.Status.ObservedGeneration = e.Generation
	}
	var all []execution.Decision
	for range 20 {
		d := execution.Decide(o)
		all = append(all, d)
		var err error
		for _, effect := range d.Do {
			if refusal, ok := effect.(execution.Refuse); ok {
				err = refusal.Err
				break
			}
			o = execution.After(o, effect, versionsAfter(effect))
		}
		o = execution.Settle(e, o, d, err)
		if d.Wait || err != nil {
			return o, all, nil
		}
	}
	return o, all, fmt.Errorf("%w: %v", errNoEnd, all[len(all)-1])
}

// versionsAfter returns the objects that an effect leads to.
func versionsAfter(effect execution.Effect) map[string]execution.Object {
	objects := map[string]execution.Object{}
	note := func(items []execution.Item, moves func(execution.Item) bool) {
		for _, i := range items {
			object := execution.Object{Name: i.ObjectName(), UID: "u", Version: "2", Generation: max(i.Object.Generation, 1)}
			if moves(i) {
				object.Generation++
			}
			objects[object.Name] = object
		}
	}
	switch e := effect.(type) {
	case execution.CreateItems:
		note(e.Items, func(execution.Item) bool { return false })
	case execution.UpdateItems:
		note(e.Items, func(i execution.Item) bool { return i.SpecDiffers })
	case execution.ConvertItems:
		note(e.Items, func(execution.Item) bool { return true })
	case execution.AskItems:
		note(e.Items, func(execution.Item) bool { return false })
	}
	return objects
}
