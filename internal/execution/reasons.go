// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import "espalier.dev/internal/decision"

// Codes of reasons, beside those of the API and those of the continuous flow in package run. The list is closed.
const (
	// ReasonStarted says that a job has started.
	ReasonStarted = "Started"
	// ReasonPrepared says that the objects of all deploy items are as they should be.
	ReasonPrepared = "DeployItemsPrepared"
	// ReasonTriggered says that deploy items got the job.
	ReasonTriggered = "DeployItemsTriggered"
	// ReasonDeployed says that all deploy items have succeeded.
	ReasonDeployed = "DeployItemsSucceeded"
	// ReasonDeployItemsFailed says that deploy items failed.
	ReasonDeployItemsFailed = "DeployItemsFailed"
	// ReasonDeployItemsLeft says that deploy items could not be deleted.
	ReasonDeployItemsLeft = "DeployItemsNotDeleted"
	// ReasonInvalidSpec says that the deploy items of the spec cannot be read or ordered.
	ReasonInvalidSpec = "InvalidDeployItems"
	// ReasonReadingExports says that the exports of the deploy items are about to be read.
	ReasonReadingExports = "ReadingExports"
	// ReasonExportsUnusable says that the exports of a deploy item are missing or cannot be read.
	ReasonExportsUnusable = "ExportsUnusable"
	// ReasonDeleting says that deploy items are being deleted.
	ReasonDeleting = "DeletingDeployItems"
	// ReasonDeleted says that all deploy items are gone.
	ReasonDeleted = "DeployItemsDeleted"
	// ReasonNamespaceEnds says that the namespace is being deleted.
	ReasonNamespaceEnds = "NamespaceTerminating"
	// ReasonInterruptAccepted says that the job is about to be cut short.
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
