// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"slices"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/run"
)

// Observed contains everything that a decision about an installation depends on.
type Observed struct {
	Name string
	// Root is set unless the installation is nested in another one.
	Root bool
	// Continuous is set if the installation follows the continuous flow; otherwise, it follows the job flow.
	Continuous bool

	Phase   lsv1alpha1.Phase
	Job     run.Job
	Request run.Request
	// Announced is set unless the status shows the result of a job that could be mistaken for that of a requested one.
	Announced bool
	// Interrupt is set while the operation annotation requests an interrupt.
	Interrupt bool
	// StrayRequest is set while a job is requested of a nested installation.
	StrayRequest bool

	// Created is when the installation was created; ByHand means that it was not created by another installation.
	Created time.Time
	ByHand  bool

	Deleting bool
	// DeletionAsked is set once the deletion of this installation, or of one above it, was requested.
	DeletionAsked bool
	// NamespaceEnds is set once the namespace is being deleted: nothing can be created in it any more.
	NamespaceEnds bool
	Finalizer     bool
	// LabelLost is set if a nested installation has lost the label that names its parent. Parent is the name, from the owner or, if another
	// client has removed that too, from the status of the parent. In the latter case, the other facts are those of a root.
	LabelLost bool
	Parent    string
	// Lost are objects that the last job or update has written and another client has deleted or marred.
	Lost []dataflow.ObjectID
	// Suspension tells whether the annotations permit new runs.
	Suspension Suspension
	// WithoutUninstall and IgnoreSuccessors are set by the annotations of those names.
	WithoutUninstall bool
	IgnoreSuccessors bool

	// Changed means that the spec has changed since a job last took it into account; IfChanged means that this alone requests a new job.
	Changed   bool
	IfChanged bool
	// FlowOnly means that the spec has another generation than the one that the status refers to, and differs only in its flow.
	FlowOnly bool
	// Automatic is the next job that starts by itself, zero if there is none. Scheduled means that the spec requests automatic jobs.
	Automatic Automatic
	Scheduled bool

	// DependencyError is why the installation can never get its imports or provide its exports: installations that wait for each
	// other, or export the same object. It is nil if nothing prevents that.
	DependencyError error
	Predecessors    []Sibling
	Successors      []Sibling
	Children        []Child
	// UntoldSuccessors are the successors that an earlier controller had not yet notified when it stopped.
	UntoldSuccessors []string
	// Orphaned are children that the blueprint no longer contains.
	Orphaned []Child

	// Limits are the quotas of the namespace that the next phase may depend on. Turn is the job's position among others; nil
	// unless Needs has requested it.
	Limits Limits
	Turn   *Turn

	// Plan is what the blueprint requires, Exporting what is exported; nil unless Needs has requested them. Below contains the objects that
	// the plan starts from.
	Plan      *Plan
	Exporting *ExportPlan
	Below     Below
	// Prepared is the result of the effect Prepare, in the pass in which it was executed.
	Prepared *Prepared
	// ExportsWritten is set once this pass has written the exports, SuccessorsRead once it has reread its successors in order to notify them.
	ExportsWritten, SuccessorsRead bool
	// Done are the steps that effects have completed since the last decision was settled.
	Done []lsv1alpha1.ConditionType

	// NewJobID is an ID for a job that starts in this pass without a grant.
	NewJobID string
	// Since is when the current phase started.
	Since time.Time
	Now   time.Time

	// The facts below are known in the continuous flow only.

	// Chosen is the flow that the spec names.
	Chosen lsv1alpha1.Flow
	// Operation is the pending operation from the annotation.
	Operation lsv1alpha1.Operation
	// Ignored is set if the annotation freezes the installation.
	Ignored bool
	// Own is set if the completed phase results from the installation itself.
	Own bool
	// Entered is set once the continuous flow has updated the objects below.
	Entered bool
	// ImportsChanged names imports of which the last update used another version; ImportsMissing is why imports cannot be used.
	ImportsChanged []string
	ImportsMissing error
	// ExportsGone names what the installation has exported and another client has deleted.
	ExportsGone []string
	// Stuck names the nested installations that only wait for failed or aborted siblings.
	Stuck map[string]bool
	// Unrecorded is the version of an update that has written something below and that the status does not record; empty if there is none.
	Unrecorded string
	// UsedHash is a hash of the imports that the last update used.
	UsedHash string
	// Updated is set once this pass has updated the objects below, Exported once it has also written the exports.
	Updated, Exported bool
	// Moved is set once this pass has a result, or has reached a phase, that its status write must report at once.
	Moved bool
	// attempt is what the status records if an update of this pass fails permanently.
	attempt Prepared
}

// Automatic is a job that starts at a certain time.
type Automatic struct {
	// Due is when it starts; zero means never.
	Due time.Time
	// AfterFailure means that the last job has failed; Count is the number of jobs that were started because of failures.
	AfterFailure bool
	Count        int32
}

// Sibling is another installation in the same scope.
type Sibling struct {
	Name     string
	Job      run.Job
	Phase    lsv1alpha1.Phase
	Deleting bool
	// Asked is set while a job of it is requested or granted and has not started. A requested job of a Suspended sibling does
	// not count: it starts on resume, and is announced then.
	Asked bool
	// Suspended means that the sibling rests because a user has suspended it. Its exports are as valid as its phase shows.
	Suspended bool
	Since     time.Time

	// Continuous, UpToDate and Operation matter in the continuous flow: whether the sibling follows it, whether its status refers to its
	// current spec, and its pending operation.
	Continuous bool
	UpToDate   bool
	Operation  lsv1alpha1.Operation

	// Frozen means that the annotation ignore keeps the sibling as it is.
	Frozen bool

	// Root, Heard, UID and Version matter when a successor is asked to check its imports: the announcements of its predecessors that it has
	// recorded, and which object the request is for.
	Root         bool
	Heard        string
	UID, Version string
}

// ChildKind distinguishes nested installations from executions.
type ChildKind string

// These are the kinds of children.
const (
	ChildInstallation ChildKind = "installation"
	ChildExecution    ChildKind = "execution"
)

// Presence is what is known about the existence of a child.
type Presence string

// An Unseen child has a known name but is not in the cache: it may have been created a moment ago. A Gone child does not exist according to
// the API server.
const (
	Present Presence = "present"
	Unseen  Presence = "unseen"
	Gone    Presence = "gone"
)

// Child is an object below the installation.
type Child struct {
	Kind ChildKind
	// Name is the name of the object.
	Name     string
	Presence Presence
	Job      run.Job
	Phase    lsv1alpha1.Phase
	Deleting bool
	// DeletionAsked means that the child is marked: the tree is being deleted.
	DeletionAsked bool
	// WithoutUninstall means that the child is marked: what it has installed stays.
	WithoutUninstall bool
	// Problem is the error that the child reports.
	Problem string
	// Unowned means that the status records the child, and another client has removed its owner.
	Unowned bool
	// Flow, UpToDate and Operation matter in the continuous flow: the flow in the child's spec, whether its status refers to its current
	// spec, and its pending operation.
	Flow      lsv1alpha1.Flow
	UpToDate  bool
	Operation lsv1alpha1.Operation
	// UID and Version identify the child as it was read, so that a write to it is rejected if it has changed.
	UID, Version string
}

// String names the child in messages.
func (c Child) String() string { return string(c.Kind) + " " + c.Name }

// has reports whether the job was passed to the child.
func (c Child) has(job string) bool { return c.Presence == Present && c.Job.ID == job }

// finished reports whether the child has finished the job.
func (c Child) finished(job string) bool { return c.has(job) && !c.Job.Running() }

// Prepared is the result of the effect Prepare.
type Prepared struct {
	Generation  int64
	ImportsHash string
	// BlueprintRevision is where a blueprint from OCI or Git was found.
	BlueprintRevision string
	// Imports and ConfigGeneration are the versions that the continuous flow records.
	Imports          []lsv1alpha1.ImportStatus
	ConfigGeneration string

	Subs         *lsv1alpha1.SubInstCache
	ExecutionRef *lsv1alpha1.ObjectReference
	// StateSecrets are the names of the Secrets in which templates keep values.
	StateSecrets []string
	// Warnings name what has no effect in the blueprint and in the Context.
	Warnings []string
	// Overwritten describes how overwrites have changed the component that the spec names; empty if they have not.
	Overwritten string
}

// With returns the facts with one child changed.
func (o Observed) With(child Child, change func(*Child)) Observed {
	for _, list := range []*[]Child{&o.Children, &o.Orphaned} {
		*list = slices.Clone(*list)
		for i := range *list {
			if (*list)[i].Kind == child.Kind && (*list)[i].Name == child.Name {
				change(&(*list)[i])
			}
		}
	}
	return o
}

// MarkDeleted updates the facts about a child that was just deleted, except its version: the event about the deletion delivers that.
func MarkDeleted(c *Child) {
	c.Deleting, c.DeletionAsked, c.Presence = true, true, Unseen
}
