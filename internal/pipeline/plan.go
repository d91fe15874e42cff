// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// Outlook is what the facts come to.
type Outlook struct {
	// Revision and Run are those that the first environment has settled on last.
	Revision string
	Run      int64
	// Promotions are those that are begun now, in the order of the environments.
	Promotions []Promote
	// Withdrawals are the pull requests that are closed now.
	Withdrawals []Withdraw
	// Holds say what everything else waits for, in the order of the environments.
	Holds []pipelines.Hold
	// Status is what is recorded.
	Status pipelines.PipelineStatus
}

// Plan says which promotions are to happen as the facts are, and what the others wait for. It is a function of the spec, the
// targets, the recorded status and the time, and of nothing else.
func Plan(o Observed) Outlook {
	next := advance(o)
	status := next.status.DeepCopy()
	outlook := Outlook{Holds: status.Holds, Status: *status}
	if run := status.Run; run != nil {
		outlook.Revision, outlook.Run = run.Revision, run.Number
	}
	for _, effect := range effects(next) {
		switch e := effect.(type) {
		case Promote:
			outlook.Promotions = append(outlook.Promotions, e)
		case Withdraw:
			outlook.Withdrawals = append(outlook.Withdrawals, e)
		}
	}
	return outlook
}

// LiveAttempts are those that the status of a pipeline still waits for. What is known of others can be forgotten.
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
