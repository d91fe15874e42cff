// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/run"
	"espalier.dev/internal/schedule"
)

// Snapshot is what was read about an installation and the objects around it.
type Snapshot struct {
	Installation *lsv1alpha1.Installation
	// Predecessors and Successors are siblings; DependencyError is the error that package dataflow found in their relation.
	Predecessors, Successors []*lsv1alpha1.Installation
	DependencyError          error
	// Subinstallations are all visible nested installations; Execution is the one with the installation's name, or nil if it is not visible.
	Subinstallations []*lsv1alpha1.Installation
	Execution        *lsv1alpha1.Execution
	// Gone are the names of nested installations that do not exist according to the API server; ExecutionGone means the same for the
	// execution.
	Gone          []string
	ExecutionGone bool
	// RecordedBy is the installation that records this one as nested, although this one names no parent.
	RecordedBy string
	// Lost are objects that the installation has written and that, according to the API server, do not exist or lack labels or their owner.
	Lost []dataflow.ObjectID

	// NamespaceEnds means that the namespace is being deleted.
	NamespaceEnds bool
	// Limits are the quotas of the namespace. Turn is the job's position among others, if it is known before Needs requests it.
	Limits Limits
	Turn   *Turn

	// Imports, ExportsGone and Context matter in the continuous flow. Imports are the imports as read; nil if they were not read, which counts
	// as unchanged. ExportsGone names exported objects that do not exist. Context contains the objects that the installation has written for
	// its children, read only if a user freezes or suspends it.
	Imports     *ImportsRead
	ExportsGone []string
	Context     dataflow.Objects

	NewJobID string
	Now      time.Time
}

// NewObserved derives the facts for decisions from what was read.
func NewObserved(s Snapshot) Observed {
	inst := s.Installation
	status := &inst.Status
	operation := lsv1alpha1.Operation(inst.Annotations[lsv1alpha1.OperationAnnotation])
	root := IsRoot(inst)
	asked := operation == lsv1alpha1.OperationReconcile
	o := Observed{
		Name:             inst.Name,
		Root:             root,
		Continuous:       FlowOf(inst) == lsv1alpha1.FlowContinuous,
		Phase:            status.Phase,
		Job:              run.JobOf(&status.RunStatus),
		Announced:        run.Announced(&status.RunStatus),
		Interrupt:        operation == lsv1alpha1.OperationInterrupt,
		StrayRequest:     asked && !root,
		Created:          inst.CreationTimestamp.Time,
		ByHand:           metav1.GetControllerOfNoCopy(inst) == nil,
		Deleting:         !inst.DeletionTimestamp.IsZero(),
		DeletionAsked:    run.DeletionAsked(inst),
		NamespaceEnds:    s.NamespaceEnds,
		Limits:           s.Limits,
		Turn:             s.Turn,
		LabelLost:        inst.Labels[lsv1alpha1.EncompassedByLabel] == "" && (!root || s.RecordedBy != ""),
		Parent:           cmp.Or(ParentOf(inst), s.RecordedBy),
		Lost:             s.Lost,
		Suspension:       SuspensionOf(inst),
		Finalizer:        slices.Contains(inst.Finalizers, lsv1alpha1.Finalizer),
		WithoutUninstall: IsMarked(inst, lsv1alpha1.DeleteWithoutUninstallAnnotation),
		IgnoreSuccessors: IsMarked(inst, lsv1alpha1.DeleteIgnoreSuccessorsAnnotation),
		Changed:          changed(inst),
		IfChanged:        inst.Annotations[lsv1alpha1.ReconcileIfChangedAnnotation] == "true",
		Automatic:        automatic(inst),
		Scheduled:        inst.Spec.AutomaticReconcile != nil,
		DependencyError:  s.DependencyError,
		Predecessors:     Siblings(s.Predecessors),
		Successors:       Siblings(s.Successors),
		Below:            Below{Subinstallations: s.Subinstallations, Execution: s.Execution},
		NewJobID:         s.NewJobID,
		Now:              s.Now,
	}
	o.FlowOnly = !o.Deleting && onlyFlowChanged(inst)
	if status.PhaseTransitionTime != nil {
		o.Since = status.PhaseTransitionTime.Time
	}
	if root {
		o.UntoldSuccessors = untoldSuccessors(status)
		o.Request = run.Request{Asked: asked, GrantedID: run.ParseGrant(inst.Annotations[run.GrantAnnotation], string(inst.UID))}
	}
	o.Children, o.Orphaned = Children(s)
	if o.Continuous {
		o.observeContinuously(s)
	}
	return o
}

// untoldSuccessors returns the names that an earlier controller has recorded at the end of a successful job. After a failed job, there is
// nothing to tell the successors.
func untoldSuccessors(status *lsv1alpha1.InstallationStatus) []string {
	if !status.IsFinished() || status.Phase != lsv1alpha1.PhaseSucceeded {
		return nil
	}
	var names []string
	for _, dependent := range status.DependentsToTrigger {
		names = append(names, dependent.Name)
	}
	return names
}

// changed reports whether the spec has changed since a job took it into account. A deletion also creates a new generation, and so
// does a change of the flow.
func changed(inst *lsv1alpha1.Installation) bool {
	ahead := inst.Generation - inst.Status.ObservedGeneration
	if !inst.DeletionTimestamp.IsZero() {
		ahead--
	}
	return ahead != 0 && inst.Generation != inst.Status.ObservedGeneration && !onlyFlowChanged(inst)
}

// onlyFlowChanged reports whether the current spec has a new generation, but differs only in its flow from the one that the status refers
// to.
func onlyFlowChanged(inst *lsv1alpha1.Installation) bool {
	status := &inst.Status
	return inst.Generation != status.ObservedGeneration && status.ObservedSpec != "" &&
		status.ObservedSpec == specMark(inst, status.ObservedGeneration)
}

func specMark(inst *lsv1alpha1.Installation, generation int64) string {
	spec := inst.Spec
	spec.Flow = ""
	return run.SpecMark(inst.UID, generation, spec)
}

// ObserveSpec makes the status refer to the current spec.
func ObserveSpec(inst *lsv1alpha1.Installation) {
	run.Observe(&inst.Status.RunStatus, inst.Generation, specMark(inst, inst.Generation))
}

// rememberSpec records the spec in a status that does not contain it yet.
func rememberSpec(inst *lsv1alpha1.Installation) {
	run.RememberSpec(&inst.Status.RunStatus, inst.Generation, func(generation int64) string { return specMark(inst, generation) })
}

// MayRestore reports whether an installation restores objects that another client has deleted. It does not while a request is pending,
// which must not wait for that, nor before a job or an update that writes the objects anyway. In the continuous flow, a frozen installation
// restores nothing, nor does a suspended root at rest.
func MayRestore(inst *lsv1alpha1.Installation) bool {
	status := &inst.Status
	granted := run.ParseGrant(inst.Annotations[run.GrantAnnotation], string(inst.UID))
	continuous := FlowOf(inst) == lsv1alpha1.FlowContinuous
	frozen := continuous && inst.Annotations[lsv1alpha1.IgnoreAnnotation] == "true"
	suspended := continuous && SuspensionOf(inst).On && status.Phase.IsCompleted()
	switch {
	case !inst.DeletionTimestamp.IsZero(),
		inst.Annotations[lsv1alpha1.OperationAnnotation] != "",
		granted != "" && granted != status.JobIDRequested,
		frozen, suspended:
		return false
	case status.Phase == "", status.Phase == lsv1alpha1.PhaseInit, status.Phase == lsv1alpha1.PhasePendingDependencies:
		return false
	default:
		return status.IsFinished() || !status.Phase.IsFinal()
	}
}

// IsRoot reports whether an installation is not nested in another one.
func IsRoot(inst metav1.Object) bool { return ParentOf(inst) == "" }

// Obeys reports whether operation=reconcile has an effect on the installation itself. In the job flow, a deletion that has not failed does
// not need a request.
func Obeys(inst *lsv1alpha1.Installation) bool {
	if FlowOf(inst) == lsv1alpha1.FlowContinuous {
		return true
	}
	return IsRoot(inst) && (inst.DeletionTimestamp.IsZero() || inst.Status.Phase == lsv1alpha1.PhaseDeleteFailed)
}

// ParentOf returns the name of the installation that an object is nested in; empty for a root. The owner identifies it even if another
// client has removed the label.
func ParentOf(inst metav1.Object) string { return dataflow.ParentOf(inst) }

// installationKind is the kind that owner references name.
const installationKind = "Installation"

// Siblings derives the facts about installations that others in their scope need.
func Siblings(installations []*lsv1alpha1.Installation) []Sibling {
	var result []Sibling
	for _, inst := range installations {
		job := run.JobOf(&inst.Status.RunStatus)
		granted := run.ParseGrant(inst.Annotations[run.GrantAnnotation], string(inst.UID))
		suspended := SuspensionOf(inst).On
		asked := inst.Annotations[lsv1alpha1.OperationAnnotation] == string(lsv1alpha1.OperationReconcile) && !suspended
		result = append(result, Sibling{
			Name: inst.Name, Job: job, Phase: inst.Status.Phase, Deleting: !inst.DeletionTimestamp.IsZero(), Suspended: suspended,
			Asked: IsRoot(inst) && (asked || granted != "" && granted != job.RequestedID), Since: timeOf(inst.Status.PhaseTransitionTime),
			Continuous: FlowOf(inst) == lsv1alpha1.FlowContinuous, UpToDate: inst.Generation == inst.Status.ObservedGeneration,
			Operation: lsv1alpha1.Operation(inst.Annotations[lsv1alpha1.OperationAnnotation]),
			Frozen:    inst.Annotations[lsv1alpha1.IgnoreAnnotation] == "true" && inst.Status.Phase.IsCompleted(),
			Root:      IsRoot(inst), Heard: inst.Annotations[HeardAnnotation], UID: string(inst.UID), Version: inst.ResourceVersion,
		})
	}
	return result
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// Children divides what is below an installation into wanted and unwanted children. Without a list in the status, all visible ones are
// wanted.
func Children(s Snapshot) (wanted, leaving []Child) {
	cache := s.Installation.Status.SubInstCache
	seen := map[string]bool{}
	active := map[string]bool{}
	if cache != nil {
		for _, pair := range cache.ActiveSubs {
			active[pair.ObjectName] = true
		}
	}
	for _, sub := range s.Subinstallations {
		seen[sub.Name] = true
		child := childOf(ChildInstallation, sub, &sub.Status.RunStatus, sub.Spec.Flow)
		child.Unowned = !owns(s.Installation, sub, active)
		if cache == nil || active[sub.Name] {
			wanted = append(wanted, child)
		} else {
			leaving = append(leaving, child)
		}
	}
	if cache != nil {
		for _, pair := range cache.ActiveSubs {
			if !seen[pair.ObjectName] {
				wanted = append(wanted, missing(ChildInstallation, pair.ObjectName, slices.Contains(s.Gone, pair.ObjectName)))
			}
		}
		for _, name := range cache.OrphanedSubs {
			if !seen[name] {
				leaving = append(leaving, missing(ChildInstallation, name, slices.Contains(s.Gone, name)))
			}
		}
	}
	return withExecution(s, wanted, leaving)
}

func withExecution(s Snapshot, wanted, leaving []Child) ([]Child, []Child) {
	reference := s.Installation.Status.ExecutionReference
	switch {
	case s.Execution == nil && reference == nil:
		return wanted, leaving
	case s.Execution == nil:
		return append(wanted, missing(ChildExecution, reference.Name, s.ExecutionGone)), leaving
	}
	child := childOf(ChildExecution, s.Execution, &s.Execution.Status.RunStatus, s.Execution.Spec.Flow)
	if reference == nil {
		return wanted, append(leaving, child)
	}
	child.Unowned = !owns(s.Installation, s.Execution, nil)
	return append(wanted, child), leaving
}

// owns reports whether an installation owns an object. A nested installation that the status does not record needs no owner reference.
func owns(inst *lsv1alpha1.Installation, object metav1.Object, recorded map[string]bool) bool {
	if _, nested := object.(*lsv1alpha1.Installation); nested && !recorded[object.GetName()] {
		return true
	}
	return slices.ContainsFunc(object.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.UID == inst.UID })
}

func childOf(kind ChildKind, object metav1.Object, status *lsv1alpha1.RunStatus, flow lsv1alpha1.Flow) Child {
	c := Child{
		Kind: kind, Name: object.GetName(), Presence: Present, Job: run.JobOf(status), Phase: status.Phase,
		Deleting:         !object.GetDeletionTimestamp().IsZero(),
		DeletionAsked:    run.DeletionAsked(object),
		WithoutUninstall: object.GetAnnotations()[lsv1alpha1.DeleteWithoutUninstallAnnotation] == "true",
		UID:              string(object.GetUID()), Version: object.GetResourceVersion(),
		Flow: flow.OrDefault(), UpToDate: object.GetGeneration() == status.ObservedGeneration,
		Operation: lsv1alpha1.Operation(object.GetAnnotations()[lsv1alpha1.OperationAnnotation]),
	}
	if status.LastError != nil {
		c.Problem = status.LastError.Message
	}
	return c
}

func missing(kind ChildKind, name string, gone bool) Child {
	if gone {
		return Child{Kind: kind, Name: name, Presence: Gone}
	}
	return Child{Kind: kind, Name: name, Presence: Unseen}
}

// These are the defaults of spec.automaticReconcile.
const (
	defaultSucceededInterval = 24 * time.Hour
	defaultFailedInterval    = 5 * time.Minute
)

// automatic computes when the next job starts by itself. An invalid schedule never starts one; admission rejects it.
func automatic(inst *lsv1alpha1.Installation) Automatic {
	settings, status := inst.Spec.AutomaticReconcile, &inst.Status
	if settings == nil || !IsRoot(inst) || status.JobID == "" {
		return Automatic{}
	}
	switch {
	case status.Phase == lsv1alpha1.PhaseSucceeded && settings.SucceededReconcile != nil:
		s := settings.SucceededReconcile
		plan := schedule.Plan{Cron: s.CronSpec, Every: s.Interval, Default: defaultSucceededInterval}
		return Automatic{Due: due(plan, status)}
	case status.Phase == lsv1alpha1.PhaseFailed && settings.FailedReconcile != nil:
		s := settings.FailedReconcile
		plan := schedule.Plan{Cron: s.CronSpec, Every: s.Interval, Default: defaultFailedInterval}
		a := Automatic{AfterFailure: true, Count: failures(inst), Due: due(plan, status)}
		if s.NumberOfReconciles != nil && a.Count >= *s.NumberOfReconciles {
			a.Due = time.Time{}
		}
		return a
	default:
		return Automatic{}
	}
}

// failures counts the consecutive automatic jobs after failures with the current spec.
func failures(inst *lsv1alpha1.Installation) int32 {
	status := inst.Status.AutomaticReconcileStatus
	if status == nil || !status.OnFailed || status.Generation != inst.Generation {
		return 0
	}
	return status.NumberOfReconciles
}

func due(plan schedule.Plan, status *lsv1alpha1.InstallationStatus) time.Time {
	var last time.Time
	if status.TransitionTimes != nil {
		last = timeOf(status.TransitionTimes.FinishedTime)
	}
	if last.IsZero() {
		last = timeOf(status.PhaseTransitionTime)
	}
	next, ok, err := plan.Next(last)
	if err != nil || !ok {
		return time.Time{}
	}
	return next
}
