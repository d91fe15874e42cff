// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Class says what is to be done about a deploy item in the continuous flow.
type Class string

// Classes of deploy items. Those of the first kind are as the spec wants them, those of the second need an update.
const (
	// ClassDeployed items have succeeded.
	ClassDeployed Class = "1A"
	// ClassBroken items have failed.
	ClassBroken Class = "1B"
	// ClassInWork items have not come to an end.
	ClassInWork Class = "1C"
	// ClassDue items are updated now.
	ClassDue Class = "2A"
	// ClassPending items depend on others that have not succeeded.
	ClassPending Class = "2B"
)

// Pair is a deploy item of the spec and the object that belongs to it, if there is one.
type Pair struct {
	Item
	Class Class
	// Redo says that the item is deployed again even if nothing about it has changed.
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
		// Another spec gives an item that has failed another chance. Another generation of the item alone does not: this execution has made it,
		// say by a change of the flow, and was interrupted before it could remember that; or what somebody else has made is written back anyway.
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
