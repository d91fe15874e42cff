// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Class is what a deploy item requires in the continuous flow.
type Class string

// These are the classes of deploy items. Those that start with 1 match the spec, those that start with 2 need an update.
const (
	// ClassDeployed items have succeeded.
	ClassDeployed Class = "1A"
	// ClassBroken items have failed.
	ClassBroken Class = "1B"
	// ClassInWork items have not finished.
	ClassInWork Class = "1C"
	// ClassDue items are updated now.
	ClassDue Class = "2A"
	// ClassPending items depend on others that have not succeeded.
	ClassPending Class = "2B"
)

// Pair is a deploy item of the spec and its object, if there is one.
type Pair struct {
	Item
	Class Class
	// Redo means that the item is redeployed even if it has not changed.
	Redo bool
}

// Pairs classifies the deploy items of the spec.
func (o Observed) Pairs() []Pair {
	pairs := make([]Pair, len(o.Wanted))
	deployed := map[string]bool{}
	for i, item := range o.Wanted {
		pairs[i] = o.pair(item)
		deployed[item.Name] = pairs[i].Class == ClassDeployed
	}
	for i := range pairs {
		missing := slices.ContainsFunc(pairs[i].DependsOn, func(name string) bool { return !deployed[name] })
		if pairs[i].Class == ClassDue && (missing || pairs[i].Replaced) {
			pairs[i].Class = ClassPending
		}
	}
	return pairs
}

func (o Observed) pair(item Item) Pair {
	known := slices.IndexFunc(o.Generations, func(g lsv1alpha1.DeployItemGeneration) bool { return g.Name == item.Name })
	pair := Pair{Item: item, Class: ClassDue}
	if item.State == StateUnseen {
		pair.Class = ClassInWork
		return pair
	}
	if known < 0 || item.State == StateAbsent {
		return pair
	}
	recorded := o.Generations[known]
	if recorded.ExecutionGeneration != o.Generation || recorded.DeployItemGeneration != item.Object.Generation {
		// A new spec retries a failed item. A new generation of the item alone does not: this execution has created it, for example
		// by a change of the flow, and was interrupted before it could record that; or another client has created it, and it is reverted anyway.
		pair.Redo = recorded.ExecutionGeneration == 0 || recorded.ExecutionGeneration != o.Generation && item.State == StateFailed
		return pair
	}
	switch item.State {
	case StateSucceeded:
		pair.Class = ClassDeployed
	case StateFailed:
		pair.Class = ClassBroken
	default:
		pair.Class = ClassInWork
	}
	return pair
}

// ofClass returns the items of a class.
func ofClass(pairs []Pair, class Class) []Item {
	var items []Item
	for _, pair := range pairs {
		if pair.Class == class {
			items = append(items, pair.Item)
		}
	}
	return items
}
