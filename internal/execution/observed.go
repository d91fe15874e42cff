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
	// Continuous is set if the execution follows the continuous flow.
	Continuous bool
	// ByHand means that the execution was not created by an installation.
	ByHand bool
	// Deleted is set once the deletion of the execution was requested.
	Deleted bool
	// DeletionAsked is set once the deletion of the execution, or of an installation above it, was requested.
	DeletionAsked bool
	// NamespaceEnds is set once the namespace is being deleted: nothing can be created in it any more.
	NamespaceEnds bool
	Finalizer     bool
	// WithoutUninstall means that the deletion must leave what was deployed.
	WithoutUninstall bool
	// FlowOnly means that the spec has another generation than the one that the status refers to, and differs only in its flow.
	FlowOnly bool
	// Invalid is why the spec cannot be executed; nil if it can.
	Invalid error
	// Wanted are the items of the job, or of the spec, in its order. There are none in a deletion.
	Wanted []Item
	// Orphaned are the objects that must be deleted before a job can start anything: in a deletion, all of them.
	Orphaned []Item
	// Complete means that there are no more objects than those of Wanted and Orphaned.
	Complete bool
	// Remembered means that they include everything that this controller, or an earlier one, has written.
	Remembered bool
	Export     Export

	// These are facts of the job flow:

	// Begun means that the job has started to deploy an item, whether or not the status shows that yet.
	Begun bool
	// InterruptAsked is set while the annotation exists. Interrupted says that it has cut the current job short.
	InterruptAsked, Interrupted bool
	// GivenUp means that the job was cut short because the tree is being deleted and what was deployed stays.
	GivenUp bool

	// These are facts of the continuous flow:

	// Chosen is the flow that the spec names.
	Chosen lsv1alpha1.Flow
	// Generation is that of the spec; UpToDate means that the status refers to it.
	Generation int64
	UpToDate   bool
	// Operation is the pending operation from the annotation; Accepted means that this pass has acted on it.
	Operation lsv1alpha1.Operation
	Accepted  bool
	// Ignored is set if the annotation freezes the execution.
	Ignored bool
	// Own means that the execution itself, rather than its items, is the reason for the phase Failed; Aborted means that it was aborted.
	Own, Aborted bool
	// ExportGone means that the object with the exports has vanished.
	ExportGone bool
	// Generations record what the last update of each item was based on. An entry without numbers requires an update in any case.
	Generations []lsv1alpha1.DeployItemGeneration
}

// Item is a deploy item of the execution.
type Item struct {
	// Name is the name in the spec. For an object that belongs to no item, it is the name from its label, which may be empty.
	Name string
	// DependsOn are names of items.
	DependsOn []string
	// Object is the zero value if there is none.
	Object Object
	State  State
	// Since is when the item got its current job; zero if unknown.
	Since time.Time
	// Terminating is set once the deletion of the object was requested.
	Terminating bool
	// DeletionAsked means that the object is marked: the tree is being deleted.
	DeletionAsked bool
	// Replaced means that the object is among Orphaned and must be replaced by a new one.
	Replaced bool
	// WithoutUninstall means that the object has that annotation.
	WithoutUninstall bool
	// Problem and Codes are those of the last error of a failed item.
	Problem string
	Codes   []string
	// Write is the object to create or update; nil if no write is needed.
	Write *lsv1alpha1.DeployItem
	// Flow is the flow of the object. SpecDiffers means that Write has another spec than the object, OnlyFlow that only the flow differs.
	// Current means that the status refers to the object's current spec, apart from a change of its flow that stopped Halfway. They matter in
	// the continuous flow.
	Flow                                    lsv1alpha1.Flow
	SpecDiffers, OnlyFlow, Current, Halfway bool
	// CutShort is the status that an interrupt sets in the object; nil if it sets none.
	CutShort *lsv1alpha1.DeployItemStatus
}

// Object identifies a version of a deploy item.
type Object struct {
	Name    string
	UID     types.UID
	Version string
	// Generation is metadata.generation of the object.
	Generation int64
}

// State is the progress of an item: in the current job, or in the continuous flow with its current generation.
type State string

const (
	// StateAbsent items have no object.
	StateAbsent State = "absent"
	// StateUnseen items are recorded, but not visible, or not visible yet.
	StateUnseen State = "unseen"
	// StateIdle items were not started by this job and have finished the previous one.
	StateIdle State = "idle"
	// StateBusy items have not finished another job.
	StateBusy State = "busy"
	// StateRunning items have not finished this job.
	StateRunning State = "running"
	// StateSucceeded and StateFailed items have finished it.
	StateSucceeded State = "succeeded"
	StateFailed    State = "failed"
)

// working reports whether the item must be awaited, whatever the state of the others.
func (i Item) working() bool {
	return i.State == StateRunning || i.State == StateBusy || i.State == StateUnseen
}

// Export describes what must be done about the exports of the items.
type Export struct {
	// Unread means that all items have succeeded and the exports of some have not been read.
	Unread bool
	// Err is why the exports cannot be collected.
	Err error
	// Write is the object to store, nil if no write is needed. Exists means that it must be updated rather than created.
	Write  *lsv1alpha1.DataObject
	Exists bool
	// Reference names the object once this job's exports are stored; nil without exports.
	Reference *lsv1alpha1.ObjectReference
	// Leftover is the name of an object that exists although there are no exports.
	Leftover string
}

// Fresh reports whether a job has arrived that has not started.
func (o Observed) Fresh() bool { return o.Running() && (o.Phase == "" || o.Phase.IsFinal()) }

// Running reports whether there is an unfinished job.
func (o Observed) Running() bool { return o.Job.ID != "" && o.Job.Running() }

// Removing reports whether the execution is in the deletion flow, or starts it. An execution that was deleted during a job
// finishes that first.
func (o Observed) Removing() bool {
	return o.Running() && o.Deleted && (o.Fresh() && !o.Begun || o.Phase.IsDeletion())
}

// undetermined reports whether it is uncertain that a new job deletes the execution: an earlier controller may have started items in it
// before the execution was deleted.
func (o Observed) undetermined() bool {
	return o.Fresh() && o.Removing() && !o.Complete && !o.Remembered
}

// preparing reports whether the job has not passed Init. A phase that executions do not have is treated as a restart.
func (o Observed) preparing() bool {
	return !o.Removing() && o.Phase != lsv1alpha1.PhaseProgressing && o.Phase != lsv1alpha1.PhaseCompleting
}

// NeedsComplete reports whether the next decision needs certainty about which objects exist. In both flows, that is so at the end of a
// deletion, and when the work on all items is cut short. Besides, a deletion must neither start while a job runs nor end one that has
// started.
func NeedsComplete(o Observed) bool {
	switch {
	case o.Complete:
		return false
	case o.Continuous:
		return o.Operation == lsv1alpha1.OperationAbort || o.Deleted && len(o.Orphaned) == 0
	default:
		return o.Running() && (o.endsEarly() || o.undetermined() || o.Removing() && pruningOf(o.Orphaned).over())
	}
}

// endsEarly reports whether something may stop the job: an interrupt, or a deletion before it has started.
func (o Observed) endsEarly() bool {
	return o.InterruptAsked || o.Interrupted || o.DeletionAsked && o.preparing() && !o.Begun
}

// NeedsExports reports whether the next decision needs the exports of the items. An execution at rest in the continuous flow has already
// collected them.
func NeedsExports(o Observed) bool {
	rests := func() bool { return o.Continuous && o.Phase.IsCompleted() && Decide(o).Wait }
	return o.Export.Unread && !rests()
}

// NeedsLastExport reports whether the next decision needs the previous object with the exports: to write to it, or to delete it.
func NeedsLastExport(o Observed) bool {
	goes := o.Removing() || o.Continuous && o.Deleted
	return goes && o.Complete || NeedsExports(o)
}
