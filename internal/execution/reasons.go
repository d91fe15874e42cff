// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import "espalier.dev/internal/decision"

// Codes of reasons, in addition to those of the API and those of the continuous flow in package run. The list is closed.
const (
	// ReasonStarted means that a job has started.
	ReasonStarted = "Started"
	// ReasonPrepared means that the objects of all deploy items match the spec.
	ReasonPrepared = "DeployItemsPrepared"
	// ReasonTriggered means that deploy items got the job.
	ReasonTriggered = "DeployItemsTriggered"
	// ReasonDeployed means that all deploy items have succeeded.
	ReasonDeployed = "DeployItemsSucceeded"
	// ReasonDeployItemsFailed means that deploy items failed.
	ReasonDeployItemsFailed = "DeployItemsFailed"
	// ReasonDeployItemsLeft means that deploy items could not be deleted.
	ReasonDeployItemsLeft = "DeployItemsNotDeleted"
	// ReasonInvalidSpec means that the deploy items of the spec cannot be read or ordered.
	ReasonInvalidSpec = "InvalidDeployItems"
	// ReasonReadingExports means that the exports of the deploy items are about to be read.
	ReasonReadingExports = "ReadingExports"
	// ReasonExportsUnusable means that the exports of a deploy item are missing or cannot be read.
	ReasonExportsUnusable = "ExportsUnusable"
	// ReasonDeleting means that deploy items are being deleted.
	ReasonDeleting = "DeletingDeployItems"
	// ReasonDeleted means that all deploy items are gone.
	ReasonDeleted = "DeployItemsDeleted"
	// ReasonNamespaceEnds means that the namespace is being deleted.
	ReasonNamespaceEnds = "NamespaceTerminating"
	// ReasonInterruptAccepted means that the job is about to be interrupted.
	ReasonInterruptAccepted = "InterruptAccepted"
)

// Operations of the errors of executions.
const (
	operationPrepare   = "PrepareDeployItems"
	operationDeploy    = "DeployItems"
	operationCollect   = "CollectExports"
	operationDelete    = "DeleteDeployItems"
	operationInterrupt = "InterruptOperation"
)

func because(code, message string) decision.Reason {
	return decision.Reason{Code: code, Message: message}
}
