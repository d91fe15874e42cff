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

// Observed is everything that a decision about an installation depends on.
type Observed struct {
	Name string
	// Root is set unless the installation is nested in another one.
	Root bool
	// Continuous is set if the installation follows the continuous flow, else it follows jobs.
	Continuous bool

	Phase   lsv1alpha1.Phase
	Job     run.Job
	Request run.Request
	// Announced is set unless the status tells of the end of a job that could be taken for the end of a requested one.
	Announced bool
	// Interrupt is set while the operation annotation asks for an interrupt.
	Interrupt bool
	// StrayRequest is set while a nested installation is asked for a job.
	StrayRequest bool

	// Created is when the installation was created; ByHand says that no installation has done that.
	Created time.Time
	ByHand  bool

	Deleting bool
	// DeletionAsked is set once the deletion of this installation was asked for, or of one above it.
	DeletionAsked bool
	// NamespaceEnds is set once the namespace is being deleted: nothing can be created in it any more.
	NamespaceEnds bool
	Finalizer     bool
	// LabelLost is set if a nested installation has lost the label that names its parent, and Parent is the name: the owner tells it, or, if
	// somebody has taken that away too, the status of the parent. In the latter case the other facts are those of a root.
	LabelLost bool
	Parent    string
	// Lost are objects that the last job or update has written and somebody has deleted.
	Lost []dataflow.ObjectID
	// WithoutUninstall and IgnoreSuccessors are what the annotations of those names ask for.
	WithoutUninstall bool
	IgnoreSuccessors bool

	// Changed says that the spec has changed since a job last took it into account; IfChanged that this alone asks for a
	// new job.
	Changed   bool
	IfChanged bool
	// FlowOnly says that the spec has another generation than the status speaks of, and differs in nothing but its flow.
	FlowOnly bool
	// Automatic is the next job that starts by itself, zero if there is none. Scheduled says that the spec asks for such
	// jobs.
	Automatic Automatic
	Scheduled bool

	// DependencyError is why the installation can never get its imports or give its exports, nil if it can: installations that
	// wait for each other, or export the same.
	DependencyError error
	Predecessors    []Sibling
	Successors      []Sibling
	Children        []Child
	// UntoldSuccessors are those that an earlier controller was about to ask for a job when it stopped.
	UntoldSuccessors []string
	// Orphaned are children that the blueprint no longer contains.
	Orphaned []Child

	// Limits are the quotas of the namespace, as far as the next phase may depend on them. Turn is where the job stands among others; nil
	// unless Needs has asked for it.
	Limits Limits
	Turn   *Turn

	// Plan is what the blueprint asks for, Exporting what is exported; nil unless Needs has asked for it. Below are the objects that the plan
	// starts from.
	Plan      *Plan
	Exporting *ExportPlan
	Below     Below
	// Prepared is what the effect Prepare came to, in the pass in which it was executed.
	Prepared *Prepared
	// ExportsWritten is set once this pass has written the exports, SuccessorsRead once it has looked at its successors again, to ask them
	// for something.
	ExportsWritten, SuccessorsRead bool
	// Done are the steps that effects have done since the last decision was settled.
	Done []lsv1alpha1.ConditionType

	// NewJobID is an ID for a job that begins in this pass without a grant.
	NewJobID string
	// Since is when the present phase began.
	Since time.Time
	Now   time.Time

	// What follows is known in the continuous flow only.

	// Chosen is the flow that the spec names.
	Chosen lsv1alpha1.Flow
	// Operation is what the annotation asks for.
	Operation lsv1alpha1.Operation
	// Ignored is set if the annotation freezes the installation.
	Ignored bool
	// Own is set if the completed phase is the installation's own.
	Own bool
	// Entered is set once the continuous flow has updated what is below.
	Entered bool
	// ImportsChanged names imports of which the last update has used another version, ImportsMissing says why they cannot
	// be used at all.
	ImportsChanged []string
	ImportsMissing error
	// ExportsGone names what the installation has exported and somebody has deleted.
	ExportsGone []string
	// Stuck names the nested installations that only wait for what has ended badly beside them.
	Stuck map[string]bool
	// UsedHash is a hash of the imports that the last update has used.
	UsedHash string
	// Updated is set once this pass has updated what is below, Exported once it has completed with its exports.
	Updated, Exported bool
	// Moved is set once this pass has done something, or has come to another phase, that its status write has to tell at once.
	Moved bool
	// attempt is what the status remembers of an update of this pass that fails for good.
	attempt Prepared
}

// Automatic is a job that starts on time.
type Automatic struct {
	// Due is when; zero means never.
	Due time.Time
	// AfterFailure says that the last job has failed; Count how many jobs were started because of that.
	AfterFailure bool
	Count        int32
}

// Sibling is another installation of the same scope.
type Sibling struct {
	Name     string
	Job      run.Job
	Phase    lsv1alpha1.Phase
	Deleting bool
	// Asked is set while a job of it is requested or granted and has not begun.
	Asked bool
	Since time.Time

	// Continuous, UpToDate and Operation matter in the continuous flow: whether the sibling follows it, whether its status
	// speaks of its present spec, and what its annotation asks for.
	Continuous bool
	UpToDate   bool
	Operation  lsv1alpha1.Operation

	// Root, Heard, UID and Version matter when a successor is asked to look at its imports: what it has heard of its predecessors, and which
	// object the request is for.
	Root         bool
	Heard        string
	UID, Version string
}

// ChildKind tells nested installations from executions.
type ChildKind string

// Kinds of children.
const (
	ChildInstallation ChildKind = "installation"
	ChildExecution    ChildKind = "execution"
)

// Presence says what is known about the existence of a child.
type Presence string

// What can be known about the existence of a child. Unseen is one whose name is known and that the cache does not show:
// it may have been created a moment ago. Gone is one that the API server says does not exist.
const (
	Present Presence = "present"
	Unseen  Presence = "unseen"
	Gone    Presence = "gone"
)

// Child is an object below the installation.
type Child struct {
	Kind ChildKind
	// Name is that of the object.
	Name     string
	Presence Presence
	Job      run.Job
	Phase    lsv1alpha1.Phase
	Deleting bool
	// DeletionAsked says that the child knows that the tree is to be deleted.
	DeletionAsked bool
	// WithoutUninstall says that the child knows that what it has installed shall stay.
	WithoutUninstall bool
	// Problem is what the child says went wrong.
	Problem string
	// Flow, UpToDate and Operation matter in the continuous flow: what the child's spec says of the flow, whether its
	// status speaks of its present spec, and what its annotation asks for.
	Flow      lsv1alpha1.Flow
	UpToDate  bool
	Operation lsv1alpha1.Operation
	// UID and Version identify the child as it was read, so that a write to it can be refused if it has changed.
	UID, Version string
}

// String names the child in messages.
func (c Child) String() string { return string(c.Kind) + " " + c.Name }

// has reports whether the job was handed to the child.
func (c Child) has(job string) bool { return c.Presence == Present && c.Job.ID == job }

// finished reports whether the child has finished the job.
func (c Child) finished(job string) bool { return c.has(job) && !c.Job.Running() }

// Prepared is what the effect Prepare came to.
type Prepared struct {
	Generation  int64
	ImportsHash string
	// BlueprintRevision is where a blueprint from OCI or Git was found.
	BlueprintRevision string
	// Imports and ConfigGeneration are the versions that the continuous flow remembers.
	Imports          []lsv1alpha1.ImportStatus
	ConfigGeneration string

	Subs         *lsv1alpha1.SubInstCache
	ExecutionRef *lsv1alpha1.ObjectReference
	// Warnings are what has no effect in the blueprint, and in the Context.
	Warnings []string
	// Overwritten is what overwrites have made of the component that the spec names, empty if nothing.
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

// MarkDeleted is what is known of a child that was just deleted. Its version is not: the event about it brings that.
func MarkDeleted(c *Child) {
	c.Deleting, c.DeletionAsked, c.Presence = true, true, Unseen
}
