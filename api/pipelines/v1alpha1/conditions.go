// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Types of the conditions of a Pipeline.
const (
	// ConditionReady is True when all targets of the pipeline can be read, and nothing has failed or stalled.
	ConditionReady = "Ready"
	// ConditionReconciling is True while a revision is on its way, or waits for something.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when nothing more happens without a change or a decision by a person.
	ConditionStalled = "Stalled"
	// ConditionPromotionPending is True while the first environment has not settled on one healthy revision.
	ConditionPromotionPending = "PromotionPending"
)

// Reasons of the conditions.
const (
	// ReasonReconciliationSucceeded says that all targets could be read.
	ReasonReconciliationSucceeded = "ReconciliationSucceeded"
	// ReasonTargetClusterNotFound says that a clusterRef leads to nothing.
	ReasonTargetClusterNotFound = "TargetClusterNotFound"
	// ReasonTargetClusterNotReady says that a cluster is known but cannot be used.
	ReasonTargetClusterNotReady = "TargetClusterNotReady"
	// ReasonTargetNotReadable says that the application on a target cannot be read.
	ReasonTargetNotReadable = "TargetNotReadable"
	// ReasonReferenceNotPermitted says that the pipeline refers to another namespace, which does not permit it.
	ReasonReferenceNotPermitted = "RefNotPermitted"
	// ReasonKindNotPermitted says that spec.appRef names a kind that is not among those that pipelines may follow.
	ReasonKindNotPermitted = "KindNotPermitted"
	// ReasonEnvironmentNotReady says that the targets of an environment are not all healthy at one revision.
	ReasonEnvironmentNotReady = "EnvironmentNotReady"
)
