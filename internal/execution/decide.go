// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/graph"
	"espalier.dev/internal/run"
)

// Decide returns what to do next, by the rules of the flow that the execution follows. It is total. The rules of both flows consist of the
// steps in this file.
func Decide(o Observed) Decision {
	switch {
	case o.NamespaceEnds:
		return decideEnding(o)
	case o.Continuous:
		return decideContinuously(o)
	default:
		return decideJob(o)
	}
}

// decideEnding decides in a namespace that is being deleted: everything in it is deleted, or will be, and is released without a job. The
// deploy items go first.
func decideEnding(o Observed) Decision {
	why := because(ReasonNamespaceEnds, "the namespace is being deleted: no new work starts")
	switch {
	case !o.Deleted || !o.Finalizer:
		return Decision{Wait: true, Why: why}
	case len(o.Orphaned) > 0:
		return Decision{
			Wait:         true,
			RequeueAfter: o.recheck(),
			Why: because(
				lsv1alpha1.ReasonWaitingForSubObjects,
				"the namespace is being deleted; waiting for the deletion of deploy items "+list(o.Orphaned),
			),
		}
	case !o.Complete:
		return Decision{
			Wait:         true,
			RequeueAfter: minRecheck,
			Why:          because(ReasonNamespaceEnds, "waiting until the API server confirms that all deploy items are gone"),
		}
	default:
		return Decision{Do: []Effect{RemoveFinalizer{}}, Wait: true, Why: why}
	}
}

// writes creates and updates the objects that differ from what is wanted. A replacement is created once the old object is gone.
func writes(items []Item) []Effect {
	var create, update []Item
	for _, item := range items {
		switch {
		case item.Write == nil || item.Replaced || item.State == StateUnseen:
		case item.State == StateAbsent:
			create = append(create, item)
		default:
			update = append(update, item)
		}
	}
	var do []Effect
	if len(create) > 0 {
		do = append(do, CreateItems{Items: create})
	}
	if len(update) > 0 {
		do = append(do, UpdateItems{Items: update})
	}
	return do
}

// complete collects the exports.
func complete(o Observed) Decision {
	switch x := o.Export; {
	case x.Unread:
		return Decision{
			Wait:         true,
			RequeueAfter: minRecheck,
			Why:          because(ReasonReadingExports, "reading the exports of the deploy items"),
		}
	case x.Err != nil:
		return fail(o, failing{doing: "collect the exports", err: x.Err, code: ReasonExportsUnusable})
	case x.Write != nil:
		return succeed(WriteExport{Object: x.Write, Update: x.Exists})
	case x.Leftover != "":
		return succeed(RemoveExport{Name: x.Leftover})
	default:
		return succeed()
	}
}

func succeed(do ...Effect) Decision {
	return Decision{
		Do:   do,
		Next: lsv1alpha1.PhaseSucceeded,
		Wait: true,
		Why:  because(lsv1alpha1.ReasonSucceeded, "all deploy items succeeded"),
	}
}

// letGo finishes a deletion after all items are gone.
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

// keepDeployed informs all objects that what they have deployed stays.
func keepDeployed(o Observed) []Effect {
	if !o.WithoutUninstall {
		return nil
	}
	items := filter(o.Orphaned, func(i Item) bool { return !i.WithoutUninstall })
	if len(items) == 0 {
		return nil
	}
	return []Effect{KeepDeployed{Items: items}}
}

// neededObjects returns the objects that others depend on. A cyclic order counts as none: it occurs after a crash between the
// updates that reverse a dependency.
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

// failing describes why an execution fails.
type failing struct {
	doing string
	err   error
	code  string
}

func fail(o Observed, f failing) Decision {
	d := Decision{
		Do: []Effect{Refuse{Doing: f.doing, Err: f.err}}, Next: lsv1alpha1.PhaseFailed, Wait: true,
		Why: because(f.code, f.doing+": "+f.err.Error()),
	}
	if o.Removing() {
		d.Next = lsv1alpha1.PhaseDeleteFailed
	}
	return d
}

func failed(operation, reason string, codes []string, message string) error {
	return failure.Terminalf(failure.Details{Operation: operation, Reason: reason, Codes: codes}, "%s", message)
}

// minRecheck is the delay before rechecking a fact that is available soon.
const minRecheck = run.MinRecheck

// recheck returns the delay before the next check, in case no event arrives.
func (o Observed) recheck() time.Duration { return run.Recheck(o.PhaseSince, o.Now) }
