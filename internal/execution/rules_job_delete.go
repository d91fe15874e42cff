// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"espalier.dev/internal/graph"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// remove deletes the items in reverse order, and then lets the execution go.
func remove(o Observed) Decision {
	if o.Phase != lsv1alpha1.PhaseDeleting {
		return Decision{Do: keepDeployed(o), Next: lsv1alpha1.PhaseDeleting, Why: because(ReasonDeleting, "its deploy items are deleted")}
	}
	if keep := keepDeployed(o); len(keep) > 0 {
		return Decision{Do: keep, Why: because(ReasonDeleting, "what was deployed stays")}
	}
	r := removalOf(o.Orphaned)
	switch {
	case !r.over():
		d := o.await(lsv1alpha1.ReasonWaitingForSubObjects, r.awaited)
		d.Do = r.effects(o)
		return d
	case !o.Complete:
		return Decision{Wait: true, RequeueAfter: minRecheck, Why: because(ReasonDeleting, "whether all deploy items are gone is not known for certain yet")}
	case len(o.Orphaned) > 0:
		return fail(o, failing{
			doing: "delete the deploy items", code: ReasonDeployItemsLeft,
			err: failed(operationDelete, ReasonDeployItemsLeft, r.codes(), r.problems()),
		})
	default:
		return letGo(o)
	}
}

// decideEnding decides in a namespace that is being deleted: everything in it was asked to go, or will be, and is let go without a job. The
// deploy items go first.
func decideEnding(o Observed) Decision {
	why := because(ReasonNamespaceEnds, "the namespace is being deleted, and nothing is begun in it any more")
	switch {
	case !o.Deleted || !o.Finalizer:
		return Decision{Wait: true, Why: why}
	case len(o.Orphaned) > 0:
		return Decision{Wait: true, RequeueAfter: o.recheck(), Why: because(lsv1alpha1.ReasonWaitingForSubObjects, "the namespace is being deleted; waiting for the end of deploy items "+list(o.Orphaned))}
	case !o.Complete:
		return Decision{Wait: true, RequeueAfter: minRecheck, Why: because(ReasonNamespaceEnds, "whether all deploy items are gone is not known for certain yet")}
	default:
		return Decision{Do: []Effect{RemoveFinalizer{}}, Wait: true, Why: why}
	}
}

func letGo(o Observed) Decision {
	d := Decision{Wait: true, Why: because(ReasonDeleted, "all deploy items are gone")}
	if o.Export.Leftover != "" {
		d.Do = append(d.Do, RemoveExport{Name: o.Export.Leftover})
	}
	if o.Finalizer {
		d.Do = append(d.Do, RemoveFinalizer{})
	}
	return d
}

func keepDeployed(o Observed) []Effect {
	if !o.WithoutUninstall {
		return nil
	}
	var items []Item
	for _, item := range o.Orphaned {
		if !item.WithoutUninstall {
			items = append(items, item)
		}
	}
	if len(items) == 0 {
		return nil
	}
	return []Effect{KeepDeployed{Items: items}}
}

// removal is what can be done about objects that have to go: each goes when none that depends on it is left. One that was
// deleted gets the job in a later pass, when an event has brought the version in which it is being deleted.
type removal struct {
	delete, trigger, working, left []Item
	// awaited is the first item that something can be expected of.
	awaited Item
}

func removalOf(items []Item) removal {
	var r removal
	needed := neededObjects(items)
	for _, item := range items {
		switch {
		case item.working():
			r.working = append(r.working, item)
		case item.State == StateFailed && item.Terminating, item.State == StateSucceeded && item.Terminating:
			r.left = append(r.left, item)
		case needed[item.Object.Name]:
		case item.Terminating:
			r.trigger = append(r.trigger, item)
		default:
			r.delete = append(r.delete, item)
		}
	}
	switch {
	case len(r.working) > 0:
		r.awaited = r.working[0]
	case len(r.trigger) > 0:
		r.awaited = r.trigger[0]
	case len(r.delete) > 0:
		r.awaited = r.delete[0]
		r.awaited.Terminating = true // the decision that waits for it deletes it: saying so at once spares a write
	}
	return r
}

// neededObjects are those that another one depends on. An order that contradicts itself is none: it arises when a crash
// came between the updates that turn a dependency round.
func neededObjects(items []Item) map[string]bool {
	objects := map[string][]string{}
	for _, item := range items {
		objects[item.Name] = append(objects[item.Name], item.Object.Name)
	}
	needed := map[string]bool{}
	nodes := make([]graph.Node, len(items))
	for i, item := range items {
		nodes[i].Name = item.Object.Name
		for _, name := range item.DependsOn {
			for _, object := range objects[name] {
				needed[object] = true
				nodes[i].DependsOn = append(nodes[i].DependsOn, object)
			}
		}
	}
	g, err := graph.New(nodes)
	if err != nil || g.Cycle() != nil {
		return nil
	}
	return needed
}

// over tells whether nothing happens any more by itself: all are gone, or those that are left have failed.
func (r removal) over() bool { return len(r.working)+len(r.delete)+len(r.trigger) == 0 }

// failed tells whether objects are left of which no more can be expected.
func (r removal) failed() bool { return r.over() && len(r.left) > 0 }

func (r removal) effects(o Observed) []Effect {
	var do []Effect
	if len(r.delete) > 0 {
		do = append(do, DeleteItems{Items: r.delete})
	}
	if len(r.trigger) > 0 {
		do = append(do, TriggerItems{JobID: o.Job.ID, Items: r.trigger})
	}
	return do
}

func (r removal) problems() string { return problemsOf(r.left) }

func (r removal) codes() []string { return codesOf(r.left) }
