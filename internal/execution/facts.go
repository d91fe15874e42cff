// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

// NewObserved derives the facts for a decision from what was read. Items matter in the continuous flow, during a job, and in a namespace
// that is being deleted.
func NewObserved(s Snapshot) Observed {
	l := facts{Snapshot: s, o: ofExecution(s), objects: make([]*lsv1alpha1.DeployItem, len(s.Items))}
	for i := range s.Items {
		l.objects[i] = &s.Items[i]
	}
	slices.SortFunc(l.objects, func(a, b *lsv1alpha1.DeployItem) int { return strings.Compare(a.Name, b.Name) })
	switch {
	case l.o.NamespaceEnds:
		l.readRemoval()
	case l.o.Continuous:
		l.readContinuousRun()
	case l.o.Running():
		l.readJob()
	}
	return l.o
}

// ofExecution returns the facts from the execution itself.
func ofExecution(s Snapshot) Observed {
	e := s.Execution
	o := Observed{
		Now:              s.Now,
		Continuous:       FlowOf(e) == lsv1alpha1.FlowContinuous,
		ByHand:           metav1.GetControllerOfNoCopy(e) == nil,
		Deleted:          !e.DeletionTimestamp.IsZero(),
		DeletionAsked:    run.DeletionAsked(e),
		NamespaceEnds:    s.NamespaceEnds,
		Finalizer:        slices.Contains(e.Finalizers, lsv1alpha1.Finalizer),
		WithoutUninstall: e.Annotations[lsv1alpha1.DeleteWithoutUninstallAnnotation] == "true",
		Complete:         s.Complete,
		Remembered:       s.Remembered,
		FlowOnly:         onlyFlowChanged(e),
	}
	if !o.Continuous {
		o.InterruptAsked = e.Annotations[lsv1alpha1.OperationAnnotation] == string(lsv1alpha1.OperationInterrupt)
		o.Interrupted = wasInterrupted(e)
	}
	return o.at(&e.Status.RunStatus)
}

type facts struct {
	Snapshot
	o       Observed
	objects []*lsv1alpha1.DeployItem
	// preparing means that the items must be changed to match the current spec: at the start of a job, and always in the continuous flow.
	preparing bool
}

func (l *facts) readJob() {
	l.o.Begun = slices.ContainsFunc(l.objects, func(i *lsv1alpha1.DeployItem) bool {
		return i.Status.JobID == l.o.Job.ID && i.DeletionTimestamp.IsZero()
	})
	l.o.GivenUp = l.o.DeletionAsked && l.o.WithoutUninstall && !l.o.Removing()
	l.o.Interrupted = l.o.Interrupted || l.o.GivenUp
	if l.o.Removing() {
		l.readRemoval()
		return
	}
	l.preparing = l.o.preparing()
	l.prepareExports(l.readRun())
}

func (l *facts) readRemoval() {
	for _, object := range l.objects {
		l.o.Orphaned = append(l.o.Orphaned, l.item(object))
	}
	if l.Export != nil || l.Execution.Status.ExportReference != nil {
		l.o.Export.Leftover = exportName(l.Execution)
	}
}

func (l *facts) readRun() matching {
	plan := l.plan()
	m := match(l.Execution, plan, l.objects)
	known := map[string]bool{}
	for _, p := range plan {
		known[p.name] = true
	}
	l.o.Wanted = make([]Item, 0, len(plan))
	for _, p := range plan {
		item := l.wanted(p, m.chosen[p.name])
		item.DependsOn = onlyKnown(item.DependsOn, known)
		l.o.Wanted = append(l.o.Wanted, item)
	}
	for _, object := range m.surplus {
		if l.mustLeave(object) {
			l.o.Orphaned = append(l.o.Orphaned, l.item(object))
		}
	}
	return m
}

// plan returns the items of the spec if the job uses the current one, otherwise those that the status records.
func (l *facts) plan() []planned {
	status := &l.Execution.Status
	if !l.preparing && status.ObservedGeneration != l.Execution.Generation {
		return planOfRecord(l.Execution, l.objects)
	}
	plan, err := planOfSpec(l.Execution)
	if err != nil {
		l.o.Invalid = err
		return planOfRecord(l.Execution, l.objects)
	}
	return plan
}

// mustLeave reports whether this job must delete an object that belongs to none of its items. Once items have been started, this
// only applies to objects whose deletion was due before.
func (l *facts) mustLeave(object *lsv1alpha1.DeployItem) bool {
	if l.preparing || !object.DeletionTimestamp.IsZero() {
		return true
	}
	cache := l.Execution.Status.DeployItemCache
	return cache != nil && slices.Contains(cache.OrphanedDIs, object.Name)
}

func (l *facts) wanted(p planned, object *lsv1alpha1.DeployItem) Item {
	if object == nil {
		return l.missing(p)
	}
	item := l.item(object)
	item.Name = p.name
	if p.template == nil {
		return item
	}
	item.DependsOn = p.dependsOn
	if !l.preparing || l.o.Invalid != nil {
		return item
	}
	if item.Terminating || object.Spec.Type != p.template.Type {
		l.o.Orphaned = append(l.o.Orphaned, l.item(object))
		return Item{Name: p.name, DependsOn: p.dependsOn, State: StateAbsent, Replaced: true, Write: newItem(l.Execution, p.template)}
	}
	if item.State == StateIdle {
		item.Write = changedItem(object, l.Execution, p.template)
	}
	return item
}

// missing returns an item whose object was not found. If the object is recorded, only the API server can confirm that it is gone.
func (l *facts) missing(p planned) Item {
	item := Item{Name: p.name, DependsOn: p.dependsOn, State: StateAbsent}
	if p.template != nil {
		item.Write = newItem(l.Execution, p.template)
	}
	cache := l.Execution.Status.DeployItemCache
	if cache == nil {
		return item
	}
	for _, pair := range cache.ActiveDIs {
		if pair.SpecName != p.name {
			continue
		}
		item.Object.Name = pair.ObjectName
		if !l.Complete && !slices.Contains(l.Gone, pair.ObjectName) {
			item.State = StateUnseen
		}
	}
	return item
}

// item returns what is known about an object.
func (l *facts) item(object *lsv1alpha1.DeployItem) Item {
	status := &object.Status
	item := Item{
		Name:             object.Labels[lsv1alpha1.ExecutionManagedNameLabel],
		DependsOn:        dependsOn(object),
		Object:           Object{Name: object.Name, UID: object.UID, Version: object.ResourceVersion},
		State:            l.stateOf(status),
		Since:            triggered(status),
		Terminating:      !object.DeletionTimestamp.IsZero(),
		DeletionAsked:    run.DeletionAsked(object),
		WithoutUninstall: object.Annotations[lsv1alpha1.DeleteWithoutUninstallAnnotation] == "true",
	}
	if item.State == StateFailed {
		item.Problem, item.Codes = problemOf(status)
	}
	if l.o.InterruptAsked || l.o.Interrupted {
		item.CutShort = cutShort(object, l.o, l.Now)
	}
	return item
}

// stateOf returns the progress of an item in the job. In the continuous flow, which has no jobs, it is idle or busy until its generation
// is checked.
func (l *facts) stateOf(status *lsv1alpha1.DeployItemStatus) State {
	switch other := l.o.Continuous || status.JobID != l.o.Job.ID; {
	case other && status.IsFinished():
		return StateIdle
	case other:
		return StateBusy
	case !status.IsFinished():
		return StateRunning
	case status.Phase == lsv1alpha1.PhaseSucceeded:
		return StateSucceeded
	default:
		return StateFailed
	}
}

func triggered(status *lsv1alpha1.DeployItemStatus) time.Time {
	if status.TransitionTimes != nil && status.TransitionTimes.TriggerTime != nil {
		return status.TransitionTimes.TriggerTime.Time
	}
	if status.JobIDGenerationTime != nil {
		return status.JobIDGenerationTime.Time
	}
	return time.Time{}
}

func problemOf(status *lsv1alpha1.DeployItemStatus) (string, []string) {
	if status.LastError == nil {
		return "ended in phase " + string(status.Phase) + " without an error", nil
	}
	var codes []string
	for _, code := range status.LastError.Codes {
		codes = append(codes, string(code))
	}
	return status.LastError.Reason + ": " + status.LastError.Message, codes
}
