// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import "espalier.dev/internal/version"

// Codes of findings. They are what --ignore takes, and what programs rely on. docs/migration.md explains each.
const (
	codeControllersElsewhere = "controllers-elsewhere"
	codeEspalierRuns         = "espalier-runs"
	codeOtherSystem          = "other-system-runs"
	codeManagedDeployment    = "managed-deployment"
	codeDeploymentGone       = "deployment-gone"
	codeHelmDriver           = "helm-driver"
	codeDefinition           = "definition-refused"
	codeKindNotServed        = "kind-not-served"
	codeWebhook              = "foreign-webhook"
	codeFieldLost            = "field-lost"
	codeStatusFieldLost      = "status-field-lost"
	codeUnreadable           = "unreadable"
	codeJobRunning           = "job-running"
	codeJobRequested         = "job-requested"
	codeDeletionFailed       = "deletion-failed"
	codeAutomatic            = "automatic-reconcile"
	codeContinuous           = "continuous-reconcile"
	codeBlueprintError       = "blueprint-error"
	codeBlueprintWarning     = "blueprint-warning"
	codeBlueprintElsewhere   = "blueprint-elsewhere"
	codeStrictTemplates      = "strict-templates"
	codeNoDeployer           = "no-deployer"
	codeLocalComponents      = "local-components"
	codeOCMConfig            = "ocm-config"
	codeKeyElsewhere         = "key-elsewhere"
	codeApplicationKind      = "application-kind"
	codeGrantMissing         = "grant-missing"
	codePromotes             = "promotes-by-itself"
	codeApprovals            = "http-approvals"
)

// codeNames lists all codes, in the order of the checks.
func codeNames() []string {
	return []string{
		codeControllersElsewhere, codeEspalierRuns, codeOtherSystem, codeManagedDeployment, codeDeploymentGone, codeHelmDriver,
		codeDefinition, codeKindNotServed, codeWebhook, codeFieldLost, codeStatusFieldLost, codeUnreadable,
		codeJobRunning, codeJobRequested, codeDeletionFailed, codeAutomatic, codeContinuous,
		codeBlueprintError, codeBlueprintWarning, codeBlueprintElsewhere, codeStrictTemplates,
		codeNoDeployer, codeLocalComponents, codeOCMConfig, codeKeyElsewhere,
		codeApplicationKind, codeGrantMissing, codePromotes, codeApprovals,
	}
}

// referenceTo is the place in the documentation that explains a code.
func referenceTo(code string) string { return version.Page("docs/migration.md#" + code) }
