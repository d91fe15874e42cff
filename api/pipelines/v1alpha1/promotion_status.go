// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PromotionStatus records one promotion of a revision to an environment, in one run.
type PromotionStatus struct {
	// revision that is promoted.
	// +required
	Revision string `json:"revision"`

	// run that the promotion belongs to.
	// +required
	Run int64 `json:"run"`

	// key identifies the promotion. It appears in the branch, the commit and the pull request, and in events, so that the
	// same promotion is recognised wherever it left traces.
	// +optional
	Key string `json:"key,omitempty"`

	// value is what is written for the revision, if that is something else: of a Git revision the commit or the tag.
	// +optional
	Value string `json:"value,omitempty"`

	// retries is how often a retry of the promotion was requested. Each retry gets another key.
	// +optional
	Retries int32 `json:"retries,omitempty"`

	// downgrade is true if a target of the environment ran a higher version when the promotion was found to be needed.
	// +optional
	Downgrade bool `json:"downgrade,omitempty"`

	// expedited is true if a user requested to promote now: neither minHealthy nor windows hold the promotion.
	// +optional
	Expedited bool `json:"expedited,omitempty"`

	// strategy that was used: pull-request, notification or installation.
	// +optional
	Strategy StrategyName `json:"strategy,omitempty"`

	// state of the promotion: Unapproved, Rejected, Unattempted, Attempting, Failed, Created, Abandoned, Superseded,
	// Succeeded, Complete, Stalled or RolledBack.
	// +required
	State PromotionState `json:"state"`

	// startTime is when the promotion was first found to be needed.
	// +required
	StartTime metav1.Time `json:"startTime"`

	// stateTransitionTime is when state last changed.
	// +optional
	StateTransitionTime *metav1.Time `json:"stateTransitionTime,omitempty"`

	// attempts is how often it was attempted.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`

	// lastAttemptedTime is when it was attempted last.
	// +optional
	LastAttemptedTime *metav1.Time `json:"lastAttemptedTime,omitempty"`

	// nextAttemptTime is when it will be attempted again, if the last attempt failed and another may help.
	// +optional
	NextAttemptTime *metav1.Time `json:"nextAttemptTime,omitempty"`

	// completionTime is when all targets were healthy at the revision.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// error says why the last attempt failed.
	// +optional
	Error *PromotionError `json:"error,omitempty"`

	// approval records who approved or rejected the promotion.
	// +optional
	Approval *Approval `json:"approval,omitempty"`

	// approvals are those that were given to a promotion that needs more than one, the oldest first. Once there are enough,
	// approval is the last of them.
	// +optional
	// +listType=atomic
	Approvals []Approval `json:"approvals,omitempty"`

	// pullRequest describes the pull request.
	// +optional
	PullRequest *PullRequestStatus `json:"pullRequest,omitempty"`
}

// StrategyName is the name of a strategy.
type StrategyName string

// Names of the strategies.
const (
	StrategyPullRequest  StrategyName = "pull-request"
	StrategyNotification StrategyName = "notification"
	StrategyInstallation StrategyName = "installation"
)

// PromotionState is the state of a promotion.
type PromotionState string

const (
	// PromotionUnapproved waits for approval.
	PromotionUnapproved PromotionState = "Unapproved"
	// PromotionRejected was rejected by a user.
	PromotionRejected PromotionState = "Rejected"
	// PromotionUnattempted is needed and allowed, but nothing has been done yet.
	PromotionUnattempted PromotionState = "Unattempted"
	// PromotionAttempting is being done. It is recorded before anything is changed, so that a restart finds what it left.
	PromotionAttempting PromotionState = "Attempting"
	// PromotionFailed could not be done; nextAttemptTime says whether it is retried.
	PromotionFailed PromotionState = "Failed"
	// PromotionCreated has an open pull request.
	PromotionCreated PromotionState = "Created"
	// PromotionAbandoned had a pull request that was closed without merging.
	PromotionAbandoned PromotionState = "Abandoned"
	// PromotionSuperseded was replaced by a newer revision.
	PromotionSuperseded PromotionState = "Superseded"
	// PromotionSucceeded has been handed over; the environment has not arrived at the revision yet.
	PromotionSucceeded PromotionState = "Succeeded"
	// PromotionComplete has arrived: all targets were healthy at the revision.
	PromotionComplete PromotionState = "Complete"
	// PromotionStalled has been handed over but does not arrive.
	PromotionStalled PromotionState = "Stalled"
	// PromotionRolledBack was complete, then the environment went back to another revision.
	PromotionRolledBack PromotionState = "RolledBack"
)

// PromotionError says why an attempt failed.
type PromotionError struct {
	// reason is one word for machines.
	// +required
	Reason string `json:"reason"`

	// message says to people what went wrong and what can be done about it. It never contains secrets.
	// +optional
	Message string `json:"message,omitempty"`

	// permanent is true if another attempt cannot help until the pipeline, its Secret or the repository changes.
	// +optional
	Permanent bool `json:"permanent,omitempty"`

	// generation of the Pipeline at the time of the attempt.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// inputs represents what the attempt read outside of the Pipeline: its Secret and the repository. If it changes,
	// another attempt may help.
	// +optional
	Inputs string `json:"inputs,omitempty"`
}

// Withdrawal is a pull request that is being closed because its promotion was dropped, for
// example because a newer revision replaced it.
type Withdrawal struct {
	// revision that the promotion was for.
	// +required
	Revision string `json:"revision"`

	// run that the promotion belonged to.
	// +required
	Run int64 `json:"run"`

	// key of the promotion.
	// +required
	Key string `json:"key"`

	// message says why the promotion was dropped.
	// +optional
	Message string `json:"message,omitempty"`

	// pullRequest that is closed. It has no number if it is unknown whether it exists.
	// +required
	PullRequest PullRequestStatus `json:"pullRequest"`

	// startTime is when the promotion was dropped.
	// +required
	StartTime metav1.Time `json:"startTime"`

	// attempts is how often it was attempted.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`

	// nextAttemptTime is when it will be attempted again.
	// +optional
	NextAttemptTime *metav1.Time `json:"nextAttemptTime,omitempty"`

	// error says why the last attempt failed.
	// +optional
	Error *PromotionError `json:"error,omitempty"`
}

// Approval records who approved or rejected a promotion. It holds for the revision and the run of that promotion only.
type Approval struct {
	// decision is Approved or Rejected.
	// +required
	Decision Decision `json:"decision"`

	// by is who decided: a user of the Kubernetes API, or the key that signed the call of the webhook.
	// +optional
	By string `json:"by,omitempty"`

	// method is how: Webhook, LegacyWebhook, Token or KubernetesAPI.
	// +optional
	Method ApprovalMethod `json:"method,omitempty"`

	// time of the decision.
	// +required
	Time metav1.Time `json:"time"`

	// message is what the person gave as a reason.
	// +optional
	Message string `json:"message,omitempty"`

	// nonce of the signed call. The same call cannot be used twice.
	// +optional
	Nonce string `json:"nonce,omitempty"`
}

// Decision on a promotion.
type Decision string

// Decisions on a promotion.
const (
	DecisionApproved Decision = "Approved"
	DecisionRejected Decision = "Rejected"
)

// ApprovalMethod is how a decision came in.
type ApprovalMethod string

const (
	// ApprovalWebhook is a call of the webhook with a signature over method, path, time and nonce.
	ApprovalWebhook ApprovalMethod = "Webhook"
	// ApprovalLegacyWebhook is a call of the webhook with the older signature over the body alone.
	ApprovalLegacyWebhook ApprovalMethod = "LegacyWebhook"
	// ApprovalToken is a call of the webhook with a token of a user or a service account of the Kubernetes API.
	ApprovalToken ApprovalMethod = "Token"
	// ApprovalKubernetesAPI is a request to the Kubernetes API.
	ApprovalKubernetesAPI ApprovalMethod = "KubernetesAPI"
)

// PullRequestStatus describes a pull request.
type PullRequestStatus struct {
	// url of the pull request.
	// +optional
	URL string `json:"url,omitempty"`

	// number of the pull request in its repository.
	// +optional
	Number int64 `json:"number,omitempty"`

	// state of the pull request: Open, Merged or Closed. It is empty before it exists.
	// +optional
	State PullRequestState `json:"state,omitempty"`

	// repository that it is in, as the strategy named it when the promotion started.
	// +optional
	Repository *PullRequestStrategy `json:"repository,omitempty"`

	// branch that the change is on.
	// +optional
	Branch string `json:"branch,omitempty"`

	// baseCommit is the commit of the base branch that the change is based on.
	// +optional
	BaseCommit string `json:"baseCommit,omitempty"`

	// headCommit is the commit with the change.
	// +optional
	HeadCommit string `json:"headCommit,omitempty"`

	// mergeCommit is the commit that merged it.
	// +optional
	MergeCommit string `json:"mergeCommit,omitempty"`

	// closedBy is who merged or closed it.
	// +optional
	ClosedBy string `json:"closedBy,omitempty"`

	// closedTime is when it was merged or closed.
	// +optional
	ClosedTime *metav1.Time `json:"closedTime,omitempty"`

	// checks are what others say of its head commit while it is open: builds, tests and the like. Nothing waits for them. They are
	// left out if there are none, or if they are not known.
	// +optional
	Checks *PullRequestChecks `json:"checks,omitempty"`
}

// PullRequestChecks are what others say of the head commit of a pull request. Those that were skipped or may fail do not count.
type PullRequestChecks struct {
	// state is Failed if one has failed, else Running if one has not ended yet, else Passed.
	// +required
	State ChecksState `json:"state"`

	// commit that they belong to.
	// +optional
	Commit string `json:"commit,omitempty"`

	// url of the page about them, if the Git server has one.
	// +optional
	URL string `json:"url,omitempty"`

	// total is how many there are. While some are running, this and the other counts may be a little behind.
	// +optional
	Total int32 `json:"total,omitempty"`

	// passed is how many have passed.
	// +optional
	Passed int32 `json:"passed,omitempty"`

	// failed is how many have failed.
	// +optional
	Failed int32 `json:"failed,omitempty"`

	// running is how many have not ended yet.
	// +optional
	Running int32 `json:"running,omitempty"`

	// failedNames are the names of some that have failed.
	// +optional
	// +listType=atomic
	FailedNames []string `json:"failedNames,omitempty"`
}

// ChecksState says how the checks of a pull request are doing.
type ChecksState string

// States of the checks of a pull request.
const (
	ChecksRunning ChecksState = "Running"
	ChecksPassed  ChecksState = "Passed"
	ChecksFailed  ChecksState = "Failed"
)

// PullRequestState is the state of a pull request.
type PullRequestState string

// States of a pull request.
const (
	PullRequestOpen   PullRequestState = "Open"
	PullRequestMerged PullRequestState = "Merged"
	PullRequestClosed PullRequestState = "Closed"
)
