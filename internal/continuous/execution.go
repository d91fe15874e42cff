// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package continuous

import (
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/run"
)

// Execution is everything that a decision about an execution depends on.
type Execution struct {
	execution.Observed

	// Chosen is the flow that the spec names.
	Chosen lsv1alpha1.Flow
	// Generation is that of the spec; UpToDate says that the status speaks of it.
	Generation int64
	UpToDate   bool
	// Operation is what the annotation asks for; Accepted, that this pass has acted on it.
	Operation lsv1alpha1.Operation
	Accepted  bool
	// Ignored is set if the annotation freezes the execution.
	Ignored bool
	// Own is set if the phase Failed is the execution's own, Aborted if it was aborted.
	Own, Aborted bool
	// ExportGone says that the object with the exports has vanished.
	ExportGone bool
	// Generations tell what the last update of each item was based on. One without numbers asks for an update in any case.
	Generations []lsv1alpha1.DeployItemGeneration
}

// LookAtExecution turns what was read into what a decision depends on.
func LookAtExecution(s execution.Snapshot) Execution {
	e := s.Execution
	chosen := e.Spec.Flow.OrDefault()
	if onItsWay := e.Status.Phase != "" && !e.Status.Phase.IsFinal(); onItsWay && chosen != lsv1alpha1.FlowContinuous {
		// Deploy items get the flow that the execution follows at present, whatever its spec wants for later.
		s.Execution = e.DeepCopy()
		s.Execution.Spec.Flow = lsv1alpha1.FlowContinuous
	}
	o := Execution{
		Observed:    execution.LookWithoutJob(s),
		Chosen:      chosen,
		Generation:  e.Generation,
		UpToDate:    e.Generation == e.Status.ObservedGeneration,
		Operation:   lsv1alpha1.Operation(e.Annotations[lsv1alpha1.OperationAnnotation]),
		Ignored:     e.Annotations[lsv1alpha1.IgnoreAnnotation] == "true",
		Own:         run.EndedByItself(&e.Status.RunStatus),
		Aborted:     e.Status.Phase == lsv1alpha1.PhaseFailed && run.ReadyReason(&e.Status.RunStatus) == lsv1alpha1.ReasonAborted,
		Generations: slices.Clone(e.Status.DeployItemGenerations),
	}
	if o.FlowOnly {
		o.carry(e.Status.ObservedGeneration)
	}
	return o
}

// carry has what is remembered of items since a generation count for the present one, which asks for the same.
func (o *Execution) carry(since int64) {
	for i := range o.Generations {
		if g := &o.Generations[i]; g.ExecutionGeneration >= since && g.ExecutionGeneration != 0 {
			g.ExecutionGeneration = o.Generation
		}
	}
}

// Class says what is to be done about a deploy item.
type Class string

// Classes of deploy items. Those of the first kind are as the spec wants them, those of the second need an update.
const (
	// Deployed items have succeeded.
	Deployed Class = "1A"
	// Broken items have failed.
	Broken Class = "1B"
	// InWork items have not come to an end.
	InWork Class = "1C"
	// Due items are updated now.
	Due Class = "2A"
	// Pending items depend on others that have not succeeded.
	Pending Class = "2B"
)

// Pair is a deploy item of the spec and the object that belongs to it, if there is one.
type Pair struct {
	execution.Item
	Class Class
	// Redo says that the item is deployed again even if nothing about it has changed.
	Redo bool
}

// Pairs classifies the deploy items of the spec.
func (o Execution) Pairs() []Pair {
	pairs := make([]Pair, len(o.Wanted))
	deployed := map[string]bool{}
	for i, item := range o.Wanted {
		pairs[i] = o.pair(item)
		deployed[item.Name] = pairs[i].Class == Deployed
	}
	for i := range pairs {
		missing := slices.ContainsFunc(pairs[i].DependsOn, func(name string) bool { return !deployed[name] })
		if pairs[i].Class == Due && (missing || pairs[i].Replaced) {
			pairs[i].Class = Pending
		}
	}
	return pairs
}

func (o Execution) pair(item execution.Item) Pair {
	known := slices.IndexFunc(o.Generations, func(g lsv1alpha1.DeployItemGeneration) bool { return g.Name == item.Name })
	pair := Pair{Item: item, Class: Due}
	if item.State == execution.StateUnseen {
		pair.Class = InWork
		return pair
	}
	if known < 0 || item.State == execution.StateAbsent {
		return pair
	}
	recorded := o.Generations[known]
	if recorded.ExecutionGeneration != o.Generation || recorded.DeployItemGeneration != item.Object.Generation {
		// Another spec gives an item that has failed another chance. Another generation of the item alone does not: this execution has made it,
		// say by a change of the flow, and was interrupted before it could remember that; or what somebody else has made is written back anyway.
		pair.Redo = recorded.ExecutionGeneration == 0 || recorded.ExecutionGeneration != o.Generation && item.State == execution.StateFailed
		return pair
	}
	switch item.State {
	case execution.StateSucceeded:
		pair.Class = Deployed
	case execution.StateFailed:
		pair.Class = Broken
	default:
		pair.Class = InWork
	}
	return pair
}

// of returns the items of a class.
func of(pairs []Pair, class Class) []execution.Item {
	var items []execution.Item
	for _, pair := range pairs {
		if pair.Class == class {
			items = append(items, pair.Item)
		}
	}
	return items
}
