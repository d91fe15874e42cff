// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"time"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// Observed contains everything that a decision about a pipeline depends on. It comes only from caches and from memory.
type Observed struct {
	Now             time.Time
	Namespace, Name string
	Generation      int64
	Spec            pipelines.PipelineSpec
	// Status is the stored status.
	Status pipelines.PipelineStatus

	// Deleted reports whether the pipeline is being deleted.
	Deleted   bool
	Finalizer bool
	// KeepPullRequests leaves pull requests open when the pipeline is deleted.
	KeepPullRequests bool

	// Environments are the facts about the environments of the spec, in their order.
	Environments []Environment
	// PullRequests are all pull requests known to belong to this pipeline, in any state and any repository: those that its status names, and
	// those that name it.
	PullRequests []PullRequest
	// Attempts are those that this process has started for this pipeline and not dropped. An attempt that is missing was never started, or was
	// lost when a process ended.
	Attempts map[AttemptID]Attempt

	// RequestedAt is the value of the annotation with which tools of Flux request a reconcile; empty if it is not set.
	RequestedAt string
	// Requests are the requests of users, by annotation; see ReadRequests.
	Requests []Request
	// SuspendReason describes who suspended the pipeline and why; empty if unknown.
	SuspendReason string
	// UserHolds are the holds of users, by annotation; see ReadHolds.
	UserHolds []UserHold

	// RolloutDeadline is how long a promotion may take to roll out; DefaultRolloutDeadline if it is zero.
	RolloutDeadline time.Duration

	// News are the transitions that are recorded and not announced yet. Settle adds and removes them.
	News []News
}

// DefaultRolloutDeadline is the default of RolloutDeadline.
const DefaultRolloutDeadline = time.Hour

// Environment holds the facts about an environment.
type Environment struct {
	// Targets are in the order of the spec.
	Targets []Target
	// ListingPending reports whether the first listing of pull requests of the environment's repository is still pending. Until it is done, no
	// pull request is opened for a pipeline without recorded state.
	ListingPending bool
	// ListingProblem is why listing them fails; empty during the first attempt. Listing is retried.
	ListingProblem string
	// Inputs represents what an attempt reads outside of the pipeline: the version of its Secret and the commit of its base branch. When it
	// changes, an attempt that failed permanently is repeated. Empty means unknown.
	Inputs string
}

// Target holds the facts about the application on a target.
type Target struct {
	// Problem is why the application cannot be read; zero if it can. While it is set, only UnreadableSince and Revision are valid.
	Problem Problem
	// UnreadableSince is when it could last be read; zero if never, or not by this process.
	UnreadableSince time.Time

	Healthy bool
	// Revision is the revision that it runs. If it cannot be read, it is the last known one, if any.
	Revision string
	// NeverDeployed reports whether it can be read and has not run any revision yet.
	NeverDeployed bool
	// AttemptedRevision is the revision that was last tried, if it reports one.
	AttemptedRevision string
	// Failing reports whether its last attempt has failed, rather than being in progress.
	Failing   bool
	Suspended bool
	Deleting  bool
	// ReadySince is when it became ready, as reported by the application; zero if it does not report that.
	ReadySince time.Time
	// Message is why it is not healthy.
	Message string
}

// Problem is why a target cannot be read.
type Problem struct {
	// Starting reports that it has not been read yet. Until then, nothing is decided or written.
	Starting bool
	// Reason is the reason of the condition Ready, one of pipelines.Reason*.
	Reason string
	// Message describes what is wrong, with names, and what to do.
	Message string
}

// Readable reports whether the other facts are valid.
func (t Target) Readable() bool { return t.Problem == Problem{} }

// PullRequest holds the facts about a pull request.
type PullRequest struct {
	// Environment, Key, Revision and Run are those that it claims to be for. They are zero if it claims none.
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
	// Conflicting reports whether it cannot be merged as it is.
	Conflicting bool
	// Checks of its head commit; nil if they were not queried. Without a state, there are none, or they are unknown.
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

// AttemptID identifies an attempt. Attempts for the same promotion differ in their number.
type AttemptID struct {
	Verb        Verb
	Environment string
	Key         string
	Number      int32
}

// Attempt holds the facts about an attempt that was started.
type Attempt struct {
	State AttemptState
	// Result is the result if the attempt is done, and the state of the pull request if the attempt failed after changing it.
	Result Result
	// Error is why it failed, if it did.
	Error AttemptError
}

// AttemptState is the progress of an attempt.
type AttemptState string

const (
	// AttemptRunning attempts are queued or working.
	AttemptRunning AttemptState = "running"
	// AttemptDone attempts succeeded.
	AttemptDone AttemptState = "done"
	// AttemptFailed attempts failed.
	AttemptFailed AttemptState = "failed"
)

// Result is the result of an attempt.
type Result struct {
	// PullRequest is the one that was opened, adopted or closed, in the state in which the attempt left it. It is zero if there is none: for
	// other strategies, if the base branch already has the revision, or if there was nothing to withdraw.
	PullRequest PullRequest
	// Present reports whether the base branch already has the revision. A pull request that is open nevertheless is useless.
	Present bool
	// BaseCommit is the commit of the base branch that the change is based on.
	BaseCommit string
	// Message gives details, for example that no one receives an event.
	Message string
}

// AttemptError is why an attempt failed.
type AttemptError struct {
	// Reason is a CamelCase word.
	Reason string
	// Message describes what went wrong and what to do. It contains no secrets.
	Message string
	// Permanent reports whether another attempt cannot succeed until something changes.
	Permanent bool
	// RetryAfter is the earliest time for another attempt; zero if none was given.
	RetryAfter time.Time
	// Inputs is Environment.Inputs as the attempt found it.
	Inputs string
}

// Request is a request by a user.
type Request struct {
	// Annotation is the name of its annotation.
	Annotation string
	ID         string
	Action     pipelines.RequestAction
	// Environment, Revision and Run identify what is requested. Run 0 is the current one.
	Environment, Revision string
	Run                   int64
	By, Message           string
	Time                  time.Time
	// Problem is why the request is malformed. The other fields then contain what could be parsed.
	Problem string
}

// UserHold is a hold by a user, until it is released.
type UserHold struct {
	// Environment is the environment to which nothing is promoted; empty for all.
	Environment string
	By, Message string
	Time        time.Time
}
