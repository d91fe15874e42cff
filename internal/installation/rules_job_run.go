// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"strings"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

// decideJobRun decides in the phases of a job that installs.
func decideJobRun(o Observed) Decision {
	if unaware := uninformed(o); len(unaware) > 0 {
		return Decision{
			Do:  []Effect{Tell{Children: unaware}},
			Why: because(lsv1alpha1.ReasonWaitingForSubObjects, "notifying the objects below of the deletion"),
		}
	}
	switch o.Phase {
	case lsv1alpha1.PhaseInit:
		return decideInit(o)
	case lsv1alpha1.PhaseCleanupOrphaned:
		return decideCleanup(o)
	case lsv1alpha1.PhaseObjectsCreated:
		if o.DeletionAsked {
			return overtaken(o)
		}
		return Decision{Next: lsv1alpha1.PhaseProgressing, Why: waitingForChildren(o.Children)}
	case lsv1alpha1.PhaseProgressing:
		return decideProgress(o)
	case lsv1alpha1.PhaseCompleting:
		return decideCompletion(o)
	default:
		return fail(o, string(o.Phase), fmt.Sprintf("unknown phase %s in the job flow; start a new job", o.Phase))
	}
}

func decideInit(o Observed) Decision {
	if o.Interrupt {
		return interrupted(o)
	}
	if o.DeletionAsked {
		return overtaken(o)
	}
	if o.DependencyError != nil {
		return Decision{Do: []Effect{Fail{Err: o.DependencyError}}, Wait: true, Why: because(reasonPredecessorFailed, o.DependencyError.Error())}
	}
	var waiting []string
	for _, p := range o.Predecessors {
		switch standing, why := o.standing(p); standing {
		case broken:
			return fail(o, reasonPredecessorFailed, fmt.Sprintf("installation %s, from which this one imports, %s", p.Name, why))
		case unfinished:
			waiting = append(waiting, fmt.Sprintf("installation %s, which %s", p.Name, why))
		}
	}
	if len(waiting) > 0 {
		d := wait(lsv1alpha1.ReasonWaitingForPredecessors, "waiting for "+list(waiting)+o.since())
		// The write is deferred for nested installations, which get their job from the parent. Users watch the status of the root.
		d.DeferStatusWrite = !o.Root
		return d
	}
	if o.Turn != nil && !o.Turn.Open() {
		return awaitTurn(*o.Turn)
	}
	return Decision{
		Do:   []Effect{Prepare{}},
		Next: lsv1alpha1.PhaseCleanupOrphaned,
		Why:  because(string(lsv1alpha1.PhaseCleanupOrphaned), "all objects written"),
	}
}

// uninformed returns the children that work on the job and are not marked as part of the deletion, or not with its current options: the
// mark ends those that only wait.
func uninformed(o Observed) []Child {
	if !o.DeletionAsked {
		return nil
	}
	return filter(everyChild(o), func(c Child) bool {
		return c.has(o.Job.ID) && c.Job.Running() && (!c.DeletionAsked || o.WithoutUninstall && !c.WithoutUninstall)
	})
}

type standing int

const (
	ready standing = iota
	unfinished
	broken
)

// standing reports whether a predecessor has provided its exports for this job and, if not, why.
func (o Observed) standing(p Sibling) (standing, string) {
	switch {
	case p.Deleting:
		return broken, "is being deleted"
	case !o.Root && p.Job.ID != o.Job.ID:
		return unfinished, "has not started this job"
	case p.Asked:
		return unfinished, "has a requested job that has not started"
	case p.Job.Running():
		return unfinished, "is in phase " + phaseOf(p.Phase)
	default:
		return standingAtRest(p)
	}
}

// standingAtRest is the standing of a predecessor without a running job. A predecessor in the continuous flow never has a job, not even
// while it is updated, or is about to be.
func standingAtRest(p Sibling) (standing, string) {
	switch {
	case p.Phase == "" && p.Suspended:
		return unfinished, "is suspended and has never run a job"
	case p.Phase == "":
		return unfinished, "has never run a job"
	case p.Continuous && !p.Phase.IsCompleted():
		return unfinished, "is in phase " + phaseOf(p.Phase)
	case p.Continuous && !p.Suspended && !p.Frozen && p.behind() != "":
		return unfinished, p.behind()
	case p.Phase == lsv1alpha1.PhaseSucceeded:
		return ready, ""
	default:
		return broken, "is in phase " + phaseOf(p.Phase)
	}
}

func phaseOf(phase lsv1alpha1.Phase) string {
	if phase == "" {
		return "Init"
	}
	return string(phase)
}

// decideCleanup waits until the children that the blueprint no longer contains are gone.
func decideCleanup(o Observed) Decision {
	leaving := present(leavingOf(o))
	if len(leaving) == 0 {
		return afterCleanup(o)
	}
	if unmarked := undeleted(o.Orphaned); len(unmarked) > 0 {
		return Decision{Do: []Effect{DeleteChildren{Children: unmarked}}, Why: waitingForOrphans()}
	}
	if untold := without(leaving, o.Job.ID); len(untold) > 0 {
		return Decision{SaveFirst: true, Do: []Effect{PropagateJob{Children: untold}}, Why: waitingForOrphans()}
	}
	if o.Interrupt {
		return Decision{Do: []Effect{Interrupt{Children: running(leaving, o.Job.ID)}, DropOperation{}}, Why: waitingForOrphans()}
	}
	if len(running(leaving, o.Job.ID)) == 0 {
		return fail(o, reasonOrphanNotDeleted, "the blueprint no longer contains "+problems(leaving)+", which could not be deleted")
	}
	why := waitingForOrphans()
	return wait(why.Code, why.Message)
}

// afterCleanup continues, or returns to an earlier phase if a child that the blueprint contains is missing because another client has
// deleted it.
func afterCleanup(o Observed) Decision {
	if o.Interrupt {
		return interrupted(o)
	}
	for _, c := range o.Children {
		if c.Presence == Gone {
			return Decision{Next: lsv1alpha1.PhaseInit, Why: because(string(lsv1alpha1.PhaseInit), c.String()+" must be recreated")}
		}
	}
	return Decision{Next: lsv1alpha1.PhaseObjectsCreated, Why: because(string(lsv1alpha1.PhaseObjectsCreated), "all objects written")}
}

// leavingOf returns the children that must be gone before the job is passed down.
func leavingOf(o Observed) []Child {
	leaving := append([]Child(nil), o.Orphaned...)
	for _, c := range o.Children {
		if c.Deleting {
			leaving = append(leaving, c)
		}
	}
	return leaving
}

// decideProgress passes the job down and waits until all children have finished it.
func decideProgress(o Observed) Decision {
	job := o.Job.ID
	for _, c := range o.Children {
		if c.Presence == Gone {
			return lost(o, c)
		}
	}
	if untold := without(present(o.Children), job); len(untold) > 0 {
		return Decision{SaveFirst: true, Do: []Effect{PropagateJob{Children: untold}}, Why: waitingForChildren(o.Children)}
	}
	busy := running(o.Children, job)
	if o.Interrupt {
		return Decision{Do: []Effect{Interrupt{Children: busy}, DropOperation{}}, Why: waitingForChildren(o.Children)}
	}
	if len(busy) > 0 {
		why := waitingForChildren(o.Children)
		return wait(why.Code, why.Message)
	}
	if failed := failed(o.Children); len(failed) > 0 {
		return fail(o, run.ReasonSubObjectFailed, problems(failed))
	}
	return Decision{Next: lsv1alpha1.PhaseCompleting, Why: because(string(lsv1alpha1.PhaseCompleting), "all sub-objects succeeded")}
}

// lost decides after a child has vanished during the job: it awaits the others, because the installation never finishes before them.
func lost(o Observed, gone Child) Decision {
	if busy := running(present(o.Children), o.Job.ID); len(busy) > 0 {
		return wait(
			lsv1alpha1.ReasonWaitingForSubObjects,
			fmt.Sprintf("%s was deleted during the job; waiting for %s%s", gone, names(busy), o.since()),
		)
	}
	return fail(o, reasonSubObjectGone, fmt.Sprintf("%s was deleted during the job; start a new job to recreate it", gone))
}

func decideCompletion(o Observed) Decision {
	if o.Interrupt {
		return interrupted(o)
	}
	if o.Changed {
		return fail(o, reasonSpecChanged, "the spec changed during the job, so the exports would belong to the old one; start a new job")
	}
	if !o.ExportsWritten {
		return writeExports()
	}
	d := Decision{
		Next: lsv1alpha1.PhaseSucceeded,
		Wait: true,
		Why:  because(lsv1alpha1.ReasonSucceeded, "everything is installed"),
	}
	if successors := o.importers(); o.Root && len(successors) > 0 {
		d.Do = append(d.Do, Notify{Successors: successors})
	}
	return d
}

// writeExports precedes the notification of successors.
func writeExports() Decision {
	return Decision{Do: []Effect{Export{}}, Why: because(string(lsv1alpha1.PhaseCompleting), "writing exports")}
}

// importers returns the successors to notify of new exports.
func (o Observed) importers() []string {
	var names []string
	for _, s := range o.Successors {
		if !s.Deleting {
			names = append(names, s.Name)
		}
	}
	return names
}

func present(children []Child) []Child {
	return filter(children, func(c Child) bool { return c.Presence != Gone })
}

// without returns the children to which the job was not passed down. An unseen child cannot be written.
func without(children []Child, job string) []Child {
	return filter(children, func(c Child) bool { return c.Presence == Present && !c.has(job) })
}

// running returns the children that have not finished the job, including those that are not visible.
func running(children []Child, job string) []Child {
	return filter(children, func(c Child) bool { return c.Presence != Gone && !c.finished(job) })
}

func failed(children []Child) []Child {
	return filter(children, func(c Child) bool { return c.Phase != lsv1alpha1.PhaseSucceeded })
}

func filter(children []Child, keep func(Child) bool) []Child {
	var kept []Child
	for _, c := range children {
		if keep(c) {
			kept = append(kept, c)
		}
	}
	return kept
}

// problems names children and the errors that they report.
func problems(children []Child) string {
	var result []string
	for _, c := range children {
		text := c.String() + " is in phase " + phaseOf(c.Phase)
		if c.Problem != "" {
			text += ": " + c.Problem
		}
		result = append(result, text)
	}
	return list(result)
}

func list(parts []string) string {
	if len(parts) > maxNames {
		parts = append(parts[:maxNames:maxNames], fmt.Sprintf("%d more", len(parts)-maxNames))
	}
	return strings.Join(parts, "; ")
}

func (o Observed) since() string {
	if o.Since.IsZero() {
		return ""
	}
	return " since " + o.Since.UTC().Format(time.RFC3339)
}
