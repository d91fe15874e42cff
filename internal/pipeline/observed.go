// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"time"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// Observed is what a decision about a pipeline depends on. Everything in it comes from caches and from memory.
type Observed struct {
	Now             time.Time
	Namespace, Name string
	Generation      int64
	Spec            pipelines.PipelineSpec
	// Status is the status as it stands: what is remembered.
	Status pipelines.PipelineStatus

	// Deleted is set once the pipeline has been asked to go.
	Deleted   bool
	Finalizer bool
	// KeepPullRequests leaves pull requests open when the pipeline is deleted.
	KeepPullRequests bool

	// Environments are the facts about the environments of the spec, in their order.
	Environments []Environment
	// PullRequests are all that are known to belong to this pipeline, in any state and any repository: those that its status
	// names, and those that name it.
	PullRequests []PullRequest
	// Attempts are those that this process has started for this pipeline and remembers. What is not in it was never started,
	// or was lost with the process.
	Attempts map[AttemptID]Attempt

	// RequestedAt is the value of the annotation by which tools of Flux ask to look again; empty if there is none.
	RequestedAt string
	// Requests are what people ask for, by annotation; see ReadRequests.
	Requests []Request
	// UserHolds are what people hold, by annotation; see ReadHolds.
	UserHolds []UserHold

	// RolloutDeadline is how long a promotion may take to arrive; DefaultRolloutDeadline if it is zero.
	RolloutDeadline time.Duration

	// News are the transitions that were recorded and not told yet. Settle puts them here and takes them away again.
	News []News
}

// DefaultRolloutDeadline is how long a promotion that was handed over may take to arrive before it is called stalled.
const DefaultRolloutDeadline = time.Hour

// Environment is what is known about an environment.
type Environment struct {
	// Targets are in the order of the spec.
	Targets []Target
	// ListingPending says that the pull requests of the environment's repository have not been listed for the first time.
	// Until then none is opened for a pipeline that has no memory.
	ListingPending bool
	// ListingProblem is why listing them fails, which is tried again; empty while the first attempt is under way.
	ListingProblem string
	// Inputs stands for what an attempt finds outside of the pipeline: the version of its Secret, the commit of its base
	// branch. When it changes, an attempt that failed for good is made again. Empty is unknown.
	Inputs string
}

// Target is what is known about the application on a target.
type Target struct {
	// Problem is why it cannot be read, and is zero if it can. While it is there, nothing but UnreadableSince and Revision
	// means anything.
	Problem Problem
	// UnreadableSince is when it could last be read; zero if it was never read, or not by this process.
	UnreadableSince time.Time

	Healthy bool
	// Revision that it runs. If it cannot be read, the last that was seen, if any.
	Revision string
	// NeverDeployed says that it can be read and has not run any revision yet.
	NeverDeployed bool
	// AttemptedRevision is the one that was tried last, if it says so.
	AttemptedRevision string
	// Failing says that its last attempt has come to a bad end, rather than being under way.
	Failing   bool
	Suspended bool
	Deleting  bool
	// ReadySince is when it became ready, as it says itself; zero if it does not.
	ReadySince time.Time
	// Message says why it is not healthy.
	Message string
}

// Problem is why a target cannot be read.
type Problem struct {
	// Starting says that it has not been looked at yet. Nothing is concluded from that, and nothing is written because of it.
	Starting bool
	// Reason of the condition Ready, one of pipelines.Reason*.
	Reason string
	// Message says what is wrong, with names, and what can be done.
	Message string
}

// Readable reports whether the rest of the facts can be believed.
func (t Target) Readable() bool { return t.Problem == Problem{} }

// PullRequest is what is known about a pull request.
type PullRequest struct {
	// Environment, Key, Revision and Run are those that it says it is for. What it does not say is zero.
	Environment, Key, Revision string
	Run                        int64

	Number      int64
	URL         string
	State       pipelines.PullRequestState
	Branch      string
	HeadCommit  string
	MergeCommit string
	ClosedBy    string
	ClosedTime  time.Time
	// Conflicting says that it cannot be merged as it is.
	Conflicting bool
	// Checks of its head commit; nil if they have not been asked for. Without a state there are none, or they are not known.
	Checks *pipelines.PullRequestChecks
}

// Verb is what an attempt does.
type Verb string

const (
	// VerbPromote opens the pull request, sends the event or changes the Installations.
	VerbPromote Verb = "promote"
	// VerbWithdraw comments and closes the pull request and deletes its branch.
	VerbWithdraw Verb = "withdraw"
)

// AttemptID identifies an attempt. Another attempt for the same promotion has another number.
type AttemptID struct {
	Verb        Verb
	Environment string
	Key         string
	Number      int32
}

// Attempt is what is known of an attempt that was started.
type Attempt struct {
	State AttemptState
	// Result is what it came to if it is done, and how it has left the pull request if it failed after it had changed it.
	Result Result
	// Error is why it failed, if it has.
	Error AttemptError
}

// AttemptState is how far an attempt is.
type AttemptState string

const (
	// AttemptRunning attempts are waiting for their turn, or working.
	AttemptRunning AttemptState = "running"
	// AttemptDone attempts did what they should.
	AttemptDone AttemptState = "done"
	// AttemptFailed attempts did not.
	AttemptFailed AttemptState = "failed"
)

// Result is what an attempt came to.
type Result struct {
	// PullRequest is the one that was opened, adopted or closed, in the state in which it was left. It is zero if there is none:
	// other strategies have none, and there is none if the base branch holds the revision already, or if there was nothing to
	// withdraw.
	PullRequest PullRequest
	// Present says that the base branch holds the revision already. A pull request that is open nevertheless is of no use.
	Present bool
	// BaseCommit is the commit of the base branch that the change was made on.
	BaseCommit string
	// Message says more, for example that nobody listens to an event.
	Message string
}

// AttemptError is why an attempt failed.
type AttemptError struct {
	// Reason is a CamelCase word.
	Reason string
	// Message says what went wrong and what can be done. It contains no secret.
	Message string
	// Permanent says that another attempt cannot help until something changes.
	Permanent bool
	// RetryAfter is the time before which another attempt is not welcome; zero if nothing was said about it.
	RetryAfter time.Time
	// Inputs is Environment.Inputs as the attempt has found it.
	Inputs string
}

// Request is what a person asks for.
type Request struct {
	// Annotation that it came in.
	Annotation string
	ID         string
	Action     pipelines.RequestAction
	// Environment, Revision and Run say what for. Run 0 is the current one.
	Environment, Revision string
	Run                   int64
	By, Message           string
	Time                  time.Time
	// Problem says why it cannot be understood. The rest is then what can be.
	Problem string
}

// UserHold is what a person holds until it is released.
type UserHold struct {
	// Environment that nothing is promoted to; all if it is empty.
	Environment string
	By, Message string
	Time        time.Time
}
