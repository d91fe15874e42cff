// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

// Observed is what a decision about an execution depends on.
type Observed struct {
	Phase lsv1alpha1.Phase
	// PhaseSince is when Phase was reached; zero if unknown.
	PhaseSince time.Time
	Job        run.Job
	Now        time.Time
	// Continuous tells which flow the execution follows.
	Continuous bool
	// ByHand says that no installation has created the execution.
	ByHand bool
	// Deleted is set once the execution has been asked to go.
	Deleted bool
	// DeletionAsked is set once the deletion of the execution was asked for, or of an installation above it.
	DeletionAsked bool
	// NamespaceEnds is set once the namespace is being deleted: nothing can be created in it any more.
	NamespaceEnds bool
	Finalizer     bool
	// WithoutUninstall asks the deletion to leave alone what was deployed.
	WithoutUninstall bool
	// FlowOnly says that the spec has another generation than the status speaks of, and differs in nothing but its flow.
	FlowOnly bool
	// Invalid is what makes the spec impossible to carry out; nil if nothing does.
	Invalid error
	// Wanted are the items of the job, or of the spec, in its order. There are none in a deletion.
	Wanted []Item
	// Orphaned are the objects that have to go before a job can start anything: in a deletion all there are.
	Orphaned []Item
	// Complete says that there are no more objects than those of Wanted and Orphaned.
	Complete bool
	// Remembered says that nothing that this controller has written, or one before it, is missing there.
	Remembered bool
	Export     Export

	// Facts of the job flow:

	// Begun says that the job has started an item to deploy it, whether or not the status tells so yet.
	Begun bool
	// InterruptAsked is set while the annotation is there. Interrupted says that the current job was cut short by it.
	InterruptAsked, Interrupted bool
	// GivenUp says that it was cut short because everything is to be deleted and what was deployed is to stay.
	GivenUp bool

	// Facts of the continuous flow:

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

// Item is a deploy item of the execution.
type Item struct {
	// Name is the one in the spec. An object that belongs to no item has the name of its label, which may be empty.
	Name string
	// DependsOn are names of items.
	DependsOn []string
	// Object is the zero value if there is none.
	Object Object
	State  State
	// Since is when the item got its current job; zero if unknown.
	Since time.Time
	// Terminating is set once the object has been asked to go.
	Terminating bool
	// DeletionAsked says that the object knows that the tree is to be deleted.
	DeletionAsked bool
	// Replaced says that the object stands among Orphaned and a new one has to take its place.
	Replaced bool
	// WithoutUninstall says that the object carries that annotation.
	WithoutUninstall bool
	// Problem and Codes are those of the last error of a failed item.
	Problem string
	Codes   []string
	// Write is what to create or update; nil if the object is as it should be.
	Write *lsv1alpha1.DeployItem
	// Flow is that of the object. SpecDiffers says that Write has another spec than the object, OnlyFlow that nothing but
	// the flow is another one, Current that the status speaks of the object's present spec or would if a change of its flow
	// had not stopped Halfway. They matter in the continuous flow.
	Flow                                    lsv1alpha1.Flow
	SpecDiffers, OnlyFlow, Current, Halfway bool
	// CutShort is the status that an interrupt gives to the object; nil if it has none to give.
	CutShort *lsv1alpha1.DeployItemStatus
}

// Object identifies a version of a deploy item.
type Object struct {
	Name    string
	UID     types.UID
	Version string
	// Generation is that of the spec.
	Generation int64
}

// State is how far an item has come: in the current job, or in the continuous flow with its present generation.
type State string

const (
	// StateAbsent items have no object.
	StateAbsent State = "absent"
	// StateUnseen items are recorded, and not visible: perhaps not yet.
	StateUnseen State = "unseen"
	// StateIdle items were not started by this job and have finished the one before.
	StateIdle State = "idle"
	// StateBusy items have not finished another job.
	StateBusy State = "busy"
	// StateRunning items have not finished this job.
	StateRunning State = "running"
	// StateSucceeded and StateFailed items have finished it.
	StateSucceeded State = "succeeded"
	StateFailed    State = "failed"
)

// working reports whether the item has to be awaited, whatever becomes of the others.
func (i Item) working() bool {
	return i.State == StateRunning || i.State == StateBusy || i.State == StateUnseen
}

// Export is what is to be done about the exports of the items.
type Export struct {
	// Unread says that all items have succeeded and the exports of some have not been read.
	Unread bool
	// Err is what makes the exports impossible to collect.
	Err error
	// Write is the object to store, nil if it is as it should be. Exists reports whether there is one to update.
	Write  *lsv1alpha1.DataObject
	Exists bool
	// Reference names the object once this job's exports are stored; nil without exports.
	Reference *lsv1alpha1.ObjectReference
	// Leftover is the name of an object that is there although there are no exports.
	Leftover string
}

// Fresh reports whether a job has arrived that has not begun.
func (o Observed) Fresh() bool { return o.Running() && (o.Phase == "" || o.Phase.IsFinal()) }

// Running reports whether there is a job to do.
func (o Observed) Running() bool { return o.Job.ID != "" && o.Job.Running() }

// Removing reports whether the execution is in the deletion flow, or begins it. An execution that was deleted during a job
// finishes that first.
func (o Observed) Removing() bool {
	return o.Running() && o.Deleted && (o.Fresh() && !o.Begun || o.Phase.IsDeletion())
}

// undetermined reports whether it is not known for certain that a job which arrived is to delete the execution: it may have
// started items before the execution was deleted, and nobody but this controller does that.
func (o Observed) undetermined() bool {
	return o.Fresh() && o.Removing() && !o.Complete && !o.Remembered
}

// preparing reports whether the job has not come beyond Init. A phase that executions do not have is begun anew.
func (o Observed) preparing() bool {
	return !o.Removing() && o.Phase != lsv1alpha1.PhaseProgressing && o.Phase != lsv1alpha1.PhaseCompleting
}

// NeedsComplete reports whether the next decision needs to know for certain which objects exist. In both flows that is so at
// the end of a deletion, and when the work on all items is cut short. Besides, a deletion must not begin while a job runs, nor
// end one that has begun.
func NeedsComplete(o Observed) bool {
	switch {
	case o.Complete:
		return false
	case o.Continuous:
		return o.Operation == lsv1alpha1.OperationAbort || o.Deleted && len(o.Orphaned) == 0
	default:
		return o.Running() && (o.endsEarly() || o.undetermined() || o.Removing() && removalOf(o.Orphaned).over())
	}
}

// endsEarly reports whether something may keep the job from going on: an interrupt, or a deletion before it has begun.
func (o Observed) endsEarly() bool {
	return o.InterruptAsked || o.Interrupted || o.DeletionAsked && o.preparing() && !o.Begun
}

// NeedsExports reports whether the exports of the items are what the next decision needs. An execution of the continuous flow
// that rests has collected them.
func NeedsExports(o Observed) bool {
	rests := func() bool { return o.Continuous && o.Phase.IsCompleted() && Decide(o).Wait }
	return o.Export.Unread && !rests()
}

// NeedsLastExport reports whether the next decision needs the object with the exports of before: to write into it, or to delete it.
func NeedsLastExport(o Observed) bool {
	goes := o.Removing() || o.Continuous && o.Deleted
	return goes && o.Complete || NeedsExports(o)
}
