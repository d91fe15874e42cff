// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrorCode classifies an error.
type ErrorCode string

// Error codes. After one of the first five a retry cannot help.
const (
	// ErrorUnauthorized says that credentials were rejected.
	ErrorUnauthorized ErrorCode = "ERR_UNAUTHORIZED"
	// ErrorConfigurationProblem says that what the user wrote cannot work.
	ErrorConfigurationProblem ErrorCode = "ERR_CONFIGURATION_PROBLEM"
	// ErrorInternalProblem says that a controller or deployer has a defect.
	ErrorInternalProblem ErrorCode = "ERR_INTERNAL_PROBLEM"
	// ErrorTimeout says that something took longer than it was allowed to.
	ErrorTimeout ErrorCode = "ERR_TIMEOUT"
	// ErrorCyclicDependencies says that objects depend on each other in a circle.
	ErrorCyclicDependencies ErrorCode = "ERR_CYCLIC_DEPENDENCIES"

	// ErrorWebhook says that the API server or an admission webhook rejected a request for now.
	ErrorWebhook ErrorCode = "ERR_WEBHOOK"
	// ErrorUnfinished says that something else must finish first.
	ErrorUnfinished ErrorCode = "ERR_UNFINISHED"
	// ErrorForInfoOnly says that the message is information, not a problem.
	ErrorForInfoOnly ErrorCode = "ERR_FOR_INFO_ONLY"
	// ErrorNoRetry says that the operation is not retried automatically.
	ErrorNoRetry ErrorCode = "ERR_NO_RETRY"
	// ErrorCleanup says that old objects could not be removed. It is no longer used.
	ErrorCleanup ErrorCode = "ERR_CLEANUP"
)

// IsUnrecoverable reports whether a retry cannot help after an error with this code.
func (c ErrorCode) IsUnrecoverable() bool {
	return slices.Contains([]ErrorCode{
		ErrorUnauthorized, ErrorConfigurationProblem, ErrorInternalProblem, ErrorTimeout, ErrorCyclicDependencies,
	}, c)
}

// Operations and reasons of errors that clients look for.
const (
	// OperationWaitingForPickup is the operation of a deploy item's error when no deployer took it.
	OperationWaitingForPickup = "WaitingForPickup"
	// ReasonPickupTimeout says that no deployer took the deploy item in time.
	ReasonPickupTimeout = "PickupTimeout"
	// ReasonProgressingTimeout says that a deployer did not finish in time.
	ReasonProgressingTimeout = "ProgressingTimeout"
	// ReasonNoTargetFound says that the Target of a deploy item does not exist.
	ReasonNoTargetFound = "NoTargetFound"
)

// Error describes something that went wrong.
type Error struct {
	// operation is what was attempted.
	// +required
	Operation string `json:"operation"`

	// reason is one word for machines that says what went wrong.
	// +required
	Reason string `json:"reason"`

	// message says to people what went wrong and what can be done about it. It never contains secrets.
	// +required
	Message string `json:"message"`

	// codes classify the error, for example ERR_TIMEOUT or ERR_CONFIGURATION_PROBLEM.
	// +optional
	Codes []ErrorCode `json:"codes,omitempty"`

	// lastTransitionTime is when this error first occurred in its present form.
	// +required
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`

	// lastUpdateTime is when the error occurred last.
	// +required
	LastUpdateTime metav1.Time `json:"lastUpdateTime"`
}
