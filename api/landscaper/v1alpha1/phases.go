// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Phase says where an Installation, Execution or DeployItem stands. Only the job IDs say whether it has finished its
// current job, see RunStatus.
type Phase string

// Phases of the job flow. Executions skip CleanupOrphaned, ObjectsCreated and TriggerDelete; deploy items skip
// Completing as well.
const (
	PhaseInit            Phase = "Init"
	PhaseCleanupOrphaned Phase = "CleanupOrphaned"
	PhaseObjectsCreated  Phase = "ObjectsCreated"
	PhaseProgressing     Phase = "Progressing"
	PhaseCompleting      Phase = "Completing"
	PhaseSucceeded       Phase = "Succeeded"
	PhaseFailed          Phase = "Failed"

	PhaseInitDelete    Phase = "InitDelete"
	PhaseTriggerDelete Phase = "TriggerDelete"
	PhaseDeleting      Phase = "Deleting"
	PhaseDeleteFailed  Phase = "DeleteFailed"
)

// Phases that only the continuous flow of installations has.
const (
	PhasePendingDependencies Phase = "PendingDependencies"
	PhaseAborted             Phase = "Aborted"
)

// IsCompleted reports whether an installation flow has come to its end: Succeeded, Failed or Aborted.
func (p Phase) IsCompleted() bool {
	return p == PhaseSucceeded || p == PhaseFailed || p == PhaseAborted
}

// IsFinal reports whether nothing happens any more without a new request: completed, or a deletion that failed.
func (p Phase) IsFinal() bool {
	return p.IsCompleted() || p == PhaseDeleteFailed
}

// IsDeletion reports whether the phase belongs to the deletion flow.
func (p Phase) IsDeletion() bool {
	switch p {
	case PhaseInitDelete, PhaseTriggerDelete, PhaseDeleting, PhaseDeleteFailed:
		return true
	default:
		return false
	}
}
