// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PipelineStatus says what was observed, what was done, and what the pipeline waits for.
type PipelineStatus struct {
	// observedGeneration is the metadata.generation that the status describes; -1 before the controller has seen the
	// object.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// lastHandledReconcileAt is the value of the annotation reconcile.fluxcd.io/requestedAt that was answered last: since
	// then, everything has been checked again.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// conditions describe single aspects of the state. Ready says whether all targets can be read and nothing has
	// failed; PromotionPending is present while the first environment has not settled on one healthy revision.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// latestRevision is the revision that the first environment settled on last.
	// +optional
	LatestRevision string `json:"latestRevision,omitempty"`

	// run is the progress of that revision through the environments.
	// +optional
	Run *Run `json:"run,omitempty"`

	// holds say what blocks revisions, in the order of the environments. It is empty when nothing is held.
	// +optional
	// +listType=atomic
	Holds []Hold `json:"holds,omitempty"`

	// environments describe each environment, by name.
	// +optional
	Environments map[string]EnvironmentStatus `json:"environments,omitempty"`

	// requests are the latest requests of people that were answered, newest first, at most twenty. A request is answered
	// once.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Requests []RequestStatus `json:"requests,omitempty"`
}

// MaxRequests is how many answers PipelineStatus.Requests holds.
const MaxRequests = 20

// RequestStatus is the answer to a request of a person.
type RequestStatus struct {
	// id of the request.
	// +required
	ID string `json:"id"`

	// action that was requested: approve, reject, promote or retry.
	// +required
	Action RequestAction `json:"action"`

	// environment that it was requested for.
	// +optional
	Environment string `json:"environment,omitempty"`

	// revision that it was requested for.
	// +optional
	Revision string `json:"revision,omitempty"`

	// by is the user who made the request, as the request says.
	// +optional
	By string `json:"by,omitempty"`

	// time of the answer.
	// +required
	Time metav1.Time `json:"time"`

	// accepted is whether the request was carried out.
	// +required
	Accepted bool `json:"accepted"`

	// message says why the request was rejected, or what it has done.
	// +optional
	Message string `json:"message,omitempty"`
}

// RequestAction is what a person requests.
type RequestAction string

const (
	// RequestApprove lets a promotion happen that waits for approval.
	RequestApprove RequestAction = "approve"
	// RequestReject forbids a promotion that has not started.
	RequestReject RequestAction = "reject"
	// RequestPromote lets a promotion happen now: it counts as approval, and neither minHealthy nor windows hold it.
	RequestPromote RequestAction = "promote"
	// RequestRetry retries a failed or rejected promotion.
	RequestRetry RequestAction = "retry"
)

// Run is the progress of a revision through the environments. Each time the first environment settles on another
// revision, a new one starts, even if that revision was there before.
type Run struct {
	// number of the run, counted from 1.
	// +required
	Number int64 `json:"number"`

	// revision that is promoted.
	// +required
	Revision string `json:"revision"`

	// startTime is when the first environment had settled on the revision.
	// +required
	StartTime metav1.Time `json:"startTime"`

	// completionTime is when the last environment was healthy at it.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// Hold says what blocks a revision.
type Hold struct {
	// environment that the revision does not get into or does not get out of. If it is empty, the whole pipeline is held.
	// +optional
	Environment string `json:"environment,omitempty"`

	// reason is one word for machines that says what the revision waits for.
	// +required
	Reason HoldReason `json:"reason"`

	// message says to people what the revision waits for, with the names of the objects involved, and what to do.
	// +optional
	Message string `json:"message,omitempty"`

	// revision that is held.
	// +optional
	Revision string `json:"revision,omitempty"`

	// since is when the hold started.
	// +required
	Since metav1.Time `json:"since"`

	// until is when it ends automatically, if that is known.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// HoldReason says what a revision waits for.
type HoldReason string

const (
	// HoldSuspended waits until the pipeline is resumed.
	HoldSuspended HoldReason = "Suspended"
	// HoldUnsettled waits until the first environment is healthy at one revision.
	HoldUnsettled HoldReason = "Unsettled"
	// HoldTargetNotReadable waits until a target can be read.
	HoldTargetNotReadable HoldReason = "TargetNotReadable"
	// HoldRollingOut waits until all targets of an environment are healthy at the revision that some have.
	HoldRollingOut HoldReason = "RollingOut"
	// HoldSoaking waits until an environment has been healthy for minHealthy.
	HoldSoaking HoldReason = "Soaking"
	// HoldOutsideWindow waits for a window to open, or for one that denies to close.
	HoldOutsideWindow HoldReason = "OutsideWindow"
	// HoldWaitingForApproval waits for an approval.
	HoldWaitingForApproval HoldReason = "WaitingForApproval"
	// HoldWaitingForMerge waits until a pull request is merged.
	HoldWaitingForMerge HoldReason = "WaitingForMerge"
	// HoldRetrying waits for the next attempt after one that failed.
	HoldRetrying HoldReason = "Retrying"
	// HoldFailed waits until the cause of the failure is fixed.
	HoldFailed HoldReason = "Failed"
	// HoldAbandoned waits for another revision or a retry, because the pull request was closed without merging.
	HoldAbandoned HoldReason = "Abandoned"
	// HoldRejected waits for another revision or a retry, because this one was rejected.
	HoldRejected HoldReason = "Rejected"
	// HoldRolledBack waits for another revision or a retry, because the environment went back from this one.
	HoldRolledBack HoldReason = "RolledBack"
	// HoldStalled waits until the promoted revision arrives, or for a retry: find out why it does not arrive.
	HoldStalled HoldReason = "Stalled"
	// HoldNoStrategy waits until the pipeline says how to promote.
	HoldNoStrategy HoldReason = "NoStrategy"
	// HoldNoTargets waits until the environment has targets.
	HoldNoTargets HoldReason = "NoTargets"
	// HoldHeld waits until a user releases the hold.
	HoldHeld HoldReason = "Held"
	// HoldReferenceNotPermitted waits until another namespace permits a reference into it.
	HoldReferenceNotPermitted HoldReason = "RefNotPermitted"
	// HoldNeverDeployed waits until a user deploys the application to an environment for the first time, or sets
	// firstRelease.
	HoldNeverDeployed HoldReason = "NeverDeployed"
	// HoldInvalid waits until the spec is corrected.
	HoldInvalid HoldReason = "Invalid"
	// HoldWithdrawing waits until the pull request of an older promotion is closed.
	HoldWithdrawing HoldReason = "Withdrawing"
	// HoldLeftOpen is for a pull request that could not be closed before the pipeline is deleted. Nothing waits for it.
	HoldLeftOpen HoldReason = "LeftOpen"
	// HoldLookingUp waits until the pull requests of the repository are known.
	HoldLookingUp HoldReason = "LookingUp"
)

// EnvironmentStatus describes an environment.
type EnvironmentStatus struct {
	// waitingApproval is the promotion to this environment that waits for approval.
	// +optional
	WaitingApproval WaitingApproval `json:"waitingApproval"`

	// targets describe each target, in the order of the spec.
	// +optional
	Targets []TargetStatus `json:"targets,omitempty"`

	// healthy is present while all targets are healthy at one revision.
	// +optional
	Healthy *EnvironmentHealth `json:"healthy,omitempty"`

	// settled is the revision at which all targets were last healthy, even if they are not now.
	// +optional
	Settled *Settlement `json:"settled,omitempty"`

	// withdrawal is the pull request of an older promotion that is being closed.
	// +optional
	Withdrawal *Withdrawal `json:"withdrawal,omitempty"`

	// promotion is the current or last promotion to this environment.
	// +optional
	Promotion *PromotionStatus `json:"promotion,omitempty"`

	// history are the promotions to this environment before that one, newest first, at most ten.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	History []PromotionStatus `json:"history,omitempty"`
}

// MaxHistory is how many promotions EnvironmentStatus.History holds.
const MaxHistory = 10

// WaitingApproval is a promotion that waits for approval.
type WaitingApproval struct {
	// revision that waits. It is empty if nothing does.
	// +required
	Revision string `json:"revision"`
}

// EnvironmentHealth says since when an environment has been healthy at a revision.
type EnvironmentHealth struct {
	// revision that all targets run.
	// +required
	Revision string `json:"revision"`

	// since is when all of them had become healthy. minHealthy counts from here.
	// +required
	Since metav1.Time `json:"since"`
}

// Settlement is the revision at which all targets of an environment were last healthy.
type Settlement struct {
	// revision that all targets ran.
	// +required
	Revision string `json:"revision"`

	// number counts how often the environment has settled on another revision. In the mode Pairwise it is the run of
	// promotions from this environment to the next.
	// +required
	Number int64 `json:"number"`

	// run is the run that brought the revision, or found it here; 0 if the revision is not one of a run.
	// +optional
	Run int64 `json:"run,omitempty"`

	// time is when the environment settled on the revision.
	// +required
	Time metav1.Time `json:"time"`
}

// TargetStatus describes a target.
type TargetStatus struct {
	// clusterAppRef names the application, and the cluster if it is another one.
	// +required
	ClusterAppRef ClusterAppReference `json:"clusterAppRef"`

	// namespace of the application on the cluster.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// ready is whether the application was seen to be healthy.
	// +required
	Ready bool `json:"ready"`

	// revision that the application runs. If the target cannot be read, it is the last one that was seen.
	// +optional
	Revision string `json:"revision,omitempty"`

	// error says why the application cannot be read. It is empty if it can, even if the application is not healthy.
	// +optional
	Error string `json:"error,omitempty"`

	// reason is one word for why the application cannot be read, as in the condition Ready.
	// +optional
	Reason string `json:"reason,omitempty"`

	// neverDeployed says that the application can be read and has not run any revision yet.
	// +optional
	NeverDeployed bool `json:"neverDeployed,omitempty"`

	// message says why the application is not healthy, if it can be read.
	// +optional
	Message string `json:"message,omitempty"`

	// unreadableSince is when the target was last readable, if it is not now. revision is as old as that.
	// +optional
	UnreadableSince *metav1.Time `json:"unreadableSince,omitempty"`
}

// ClusterAppReference names an application on a cluster.
type ClusterAppReference struct {
	AppReference `json:",inline"`

	// clusterRef names the cluster. If it is not set, it is the one that contains the Pipeline.
	// +optional
	ClusterRef *ClusterReference `json:"clusterRef,omitempty"`
}
