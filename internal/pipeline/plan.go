// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// Outlook is the result of the facts.
type Outlook struct {
	// Revision and Run are those on which the first environment last settled.
	Revision string
	Run      int64
	// Promotions are those to start now, in the order of the environments.
	Promotions []Promote
	// Withdrawals are the pull requests to close now.
	Withdrawals []Withdraw
	// Promoting says which attempt is recorded and has not ended; empty if there is none, or if it must not continue.
	Promoting string
	// Holds describe what everything else waits for, in the order of the environments.
	Holds []pipelines.Hold
	// Status is the status to record.
	Status pipelines.PipelineStatus
}

// Plan returns the promotions to start now, and what the others wait for. It depends only on the spec, the targets, the
// recorded status and the time.
func Plan(o Observed) Outlook {
	next := advance(o)
	status := next.status.DeepCopy()
	outlook := Outlook{Holds: status.Holds, Status: *status}
	if run := status.Run; run != nil {
		outlook.Revision, outlook.Run = run.Revision, run.Number
	}
	if moving := next.progress.moving; moving != nil && moving.reason == reasonPromoting {
		outlook.Promoting = moving.message
	}
	for _, effect := range effects(next) {
		switch e := effect.(type) {
		case Promote:
			outlook.Promotions = append(outlook.Promotions, e)
		case Withdraw:
			outlook.Withdrawals = append(outlook.Withdrawals, e)
		case AddFinalizer, RemoveFinalizer, RemoveRequest, Announce:
			// These promote nothing.
		}
	}
	return outlook
}

// LiveAttempts returns the attempts that the status of a pipeline still waits for. The results of others can be dropped.
func LiveAttempts(status pipelines.PipelineStatus) map[AttemptID]bool {
	live := map[AttemptID]bool{}
	for name, e := range status.Environments {
		if e.Promotion != nil && e.Promotion.State == pipelines.PromotionAttempting {
			live[attemptOf(name, e.Promotion)] = true
		}
		if e.Withdrawal != nil {
			live[withdrawalOf(name, e.Withdrawal)] = true
		}
	}
	return live
}
