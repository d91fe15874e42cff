// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// After returns the facts after the execution of an effect. objects are the resulting versions, by name.
func After(o Observed, effect Effect, objects map[string]Object) Observed {
	o.Wanted, o.Orphaned = slices.Clone(o.Wanted), slices.Clone(o.Orphaned)
	switch e := effect.(type) {
	case AddFinalizer:
		o.Finalizer = true
	case RemoveFinalizer:
		o.Finalizer = false
	case AcceptInterrupt:
		o.InterruptAsked, o.Interrupted = false, true
	case DropInterrupt:
		o.InterruptAsked = false
	case WriteExport:
		o.Export = o.Export.stored()
	case RemoveExport:
		o.Export.Leftover = ""
	case Refuse, DropOperation, NoteItems, RedoItems, LeaveFlow, Observe:
		// Settle records these.
	default:
		o.change(itemsOf(e), func(i *Item) { i.after(e, o, objects) })
	}
	return o
}

func itemsOf(effect Effect) []Item {
	switch e := effect.(type) {
	case InterruptItems:
		return e.Items
	case CreateItems:
		return e.Items
	case UpdateItems:
		return e.Items
	case KeepDeployed:
		return e.Items
	case TellItems:
		return e.Items
	case DeleteItems:
		return e.Items
	case TriggerItems:
		return e.Items
	case ConvertItems:
		return e.Items
	case AskItems:
		return e.Items
	default:
		return nil
	}
}

// change applies a change to the items that an effect concerns.
func (o *Observed) change(concerned []Item, change func(*Item)) {
	names := make(map[string]bool, len(concerned))
	for _, item := range concerned {
		names[item.ObjectName()] = true
	}
	for _, items := range [][]Item{o.Wanted, o.Orphaned} {
		for i := range items {
			if names[items[i].ObjectName()] && !items[i].Replaced {
				change(&items[i])
			}
		}
	}
}

// ObjectName returns the name of the object, even if it does not exist yet.
func (i Item) ObjectName() string {
	if i.Write != nil {
		return i.Write.Name
	}
	return i.Object.Name
}

func (i *Item) after(effect Effect, o Observed, objects map[string]Object) {
	if object, known := objects[i.ObjectName()]; known {
		i.Object = object
	}
	switch e := effect.(type) {
	case CreateItems:
		i.State, i.Write = StateIdle, nil
		i.follow(o, StateRunning)
	case UpdateItems:
		i.updated(o, e)
	case ConvertItems:
		i.converted(o, e)
	case AskItems:
		i.follow(o, StateRunning)
	case KeepDeployed:
		i.WithoutUninstall = true
	case TellItems:
		i.DeletionAsked = true
	case DeleteItems:
		i.Terminating = true
		i.follow(o, StateRunning)
	case TriggerItems:
		i.State, i.Since = StateRunning, o.Now
	case InterruptItems:
		i.State, i.CutShort = StateFailed, nil
	}
}

// follow sets the state of the item after a write in the continuous flow: the write makes its deployer start.
func (i *Item) follow(o Observed, state State) {
	if o.Continuous {
		i.State = state
	}
}

// updated applies the result of an update of the object to the item.
func (i *Item) updated(o Observed, e UpdateItems) {
	at := slices.IndexFunc(e.Items, func(other Item) bool { return other.ObjectName() == i.ObjectName() })
	if i.SpecDiffers || at >= 0 && asks(e.Items[at].Write) {
		i.follow(o, StateRunning)
	}
	i.Write, i.SpecDiffers, i.OnlyFlow = nil, false, false
}

// converted applies the result of a change of the flow to the item: other differences from the spec stay. An item that is being deleted
// is then uninstalled in its new flow.
func (i *Item) converted(o Observed, e ConvertItems) {
	if i.OnlyFlow {
		i.Write, i.SpecDiffers, i.OnlyFlow = nil, false, false
	}
	i.Flow, i.Halfway = e.Flow, false
	if i.Terminating {
		i.follow(o, StateRunning)
	}
}

func asks(item *lsv1alpha1.DeployItem) bool {
	return item != nil && item.Annotations[lsv1alpha1.OperationAnnotation] != ""
}
