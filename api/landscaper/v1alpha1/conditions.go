// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ConditionType names one aspect of an object's state.
type ConditionType string

// Conditions that summarise an object for every client: kubectl wait, kstatus, Flux and Argo CD read these. Ready is
// always present once a controller has seen the object; the other two only while they are true.
const (
	// ConditionReady is True when the object's current generation is fully deployed.
	ConditionReady ConditionType = "Ready"
	// ConditionReconciling is True while work is in progress, or waits for something that happens without a person.
	ConditionReconciling ConditionType = "Reconciling"
	// ConditionStalled is True when nothing more happens without a change or a decision by a person.
	ConditionStalled ConditionType = "Stalled"
)

// Conditions of installations for the steps of a job: which one was done last, with which result.
const (
	ConditionEnsureSubInstallations      ConditionType = "EnsureSubInstallations"
	ConditionReconcileExecution          ConditionType = "ReconcileExecution"
	ConditionValidateImports             ConditionType = "ValidateImports"
	ConditionCreateImports               ConditionType = "CreateImports"
	ConditionCreateExports               ConditionType = "CreateExports"
	ConditionEnsureExecutions            ConditionType = "EnsureExecutions"
	ConditionValidateExport              ConditionType = "ValidateExport"
	ConditionComponentReferenceOverwrite ConditionType = "ComponentReferenceOverwrite"
)

// ConditionBlueprintWarnings is a condition of installations that is present, and True, while the blueprint contains
// something that has no effect.
const ConditionBlueprintWarnings ConditionType = "BlueprintWarnings"

// ConditionSuspended is a condition of installations that is True while no new run starts because the root is suspended, and False
// while the annotation that suspends it is present but has no effect. Otherwise it is absent.
const ConditionSuspended ConditionType = "Suspended"

// ConditionDeployItemValidation is a condition of deploy items: whether the deployer understood the configuration.
const ConditionDeployItemValidation ConditionType = "DeployItemValidation"

// ConditionStatus is the value of a condition.
type ConditionStatus string

// Values of a condition. Progressing is used by the older condition types only.
const (
	ConditionTrue        ConditionStatus = "True"
	ConditionFalse       ConditionStatus = "False"
	ConditionUnknown     ConditionStatus = "Unknown"
	ConditionProgressing ConditionStatus = "Progressing"
)

// Reasons of the conditions Ready, Reconciling and Stalled. Besides these, the reason is the phase while a job runs, and
// the reason or code of the last error when it failed.
const (
	// ReasonNotStarted says that no job is requested yet.
	ReasonNotStarted = "NotStarted"
	// ReasonSucceeded says that the current generation is fully deployed.
	ReasonSucceeded = "Succeeded"
	// ReasonFailed says that the job ended with an error; the message says which.
	ReasonFailed = "Failed"
	// ReasonDeleteFailed says that the deletion ended with an error; the message says which.
	ReasonDeleteFailed = "DeleteFailed"
	// ReasonInterrupted says that the job was interrupted.
	ReasonInterrupted = "Interrupted"
	// ReasonAborted says that the continuous flow was aborted.
	ReasonAborted = "Aborted"
	// ReasonOutdated says that the spec or an import has changed since the last job.
	ReasonOutdated = "Outdated"
	// ReasonRetrying says that the last attempt failed and the next one is due at the time in the message.
	ReasonRetrying = "Retrying"
	// ReasonWaitingForPredecessors says that siblings which export an import have not finished.
	ReasonWaitingForPredecessors = "WaitingForPredecessors"
	// ReasonWaitingForSuccessors says that siblings which import an export still exist, which holds a deletion.
	ReasonWaitingForSuccessors = "WaitingForSuccessors"
	// ReasonWaitingForImports says that an import does not exist yet.
	ReasonWaitingForImports = "WaitingForImports"
	// ReasonWaitingForSubObjects says that nested installations, the execution or deploy items have not finished.
	ReasonWaitingForSubObjects = "WaitingForSubObjects"
	// ReasonWaitingForOrphans says that objects which the blueprint no longer contains are still being deleted.
	ReasonWaitingForOrphans = "WaitingForOrphans"
	// ReasonWaitingForDeployer says that no deployer has picked up the deploy item yet.
	ReasonWaitingForDeployer = "WaitingForDeployer"
	// ReasonWaitingForReadiness says that what was deployed is not ready yet.
	ReasonWaitingForReadiness = "WaitingForReadiness"
	// ReasonWaitingForJobs says that as many jobs as the quota of the namespace permits are under way.
	ReasonWaitingForJobs = "WaitingForJobs"
	// ReasonWaitingForQuota says that a ResourceQuota of the namespace leaves no room for an object.
	ReasonWaitingForQuota = "WaitingForQuota"
)

// Condition is one aspect of an object's state.
type Condition struct {
	// type names the aspect. Ready, Reconciling and Stalled summarise the object; the other types describe single
	// steps.
	// +required
	Type ConditionType `json:"type"`

	// status is True, False or Unknown; Progressing occurs in the older condition types.
	// +required
	Status ConditionStatus `json:"status"`

	// observedGeneration is the metadata.generation that the condition describes. If it is behind, the condition is out
	// of date.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// lastTransitionTime is when status last changed.
	// +required
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`

	// lastUpdateTime is when anything in the condition last changed.
	// +required
	LastUpdateTime metav1.Time `json:"lastUpdateTime"`

	// reason is one word for machines that says why status has its value.
	// +required
	Reason string `json:"reason"`

	// message says the same to people, with the names of the objects involved.
	// +required
	Message string `json:"message"`

	// codes classify the problem if the condition reports one, for example ERR_TIMEOUT.
	// +optional
	Codes []ErrorCode `json:"codes,omitempty"`
}
