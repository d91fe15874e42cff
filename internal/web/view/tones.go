// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelinesv1alpha1 "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/run"
)

// statusOf returns the state of an object of a tree, with what is known to hold it up.
func statusOf(node *objecttree.Node, known objecttree.Explanation) Status {
	status := Status{
		Tone: toneOf(node, known.Reason), Word: node.Phase(), Message: known.Message,
		Reference: explain.Reference(explain.Link{Node: node, Explanation: known}),
	}
	status.Since = timeOf(node.Since())
	if status.Since == nil {
		status.Since = timeOf(known.Since)
	}
	return status
}

// waitsByItself are the reasons of objects that work on a job and cannot continue for now.
var waitsByItself = map[string]bool{
	lsv1alpha1.ReasonWaitingForImports: true, dataflow.ReasonImportNotFound: true, dataflow.ReasonImportOutdated: true,
	lsv1alpha1.ReasonNoTargetFound: true, lsv1alpha1.ReasonRetrying: true, lsv1alpha1.ReasonWaitingForSuccessors: true,
}

func toneOf(node *objecttree.Node, reason string) Tone {
	phase := node.Status.Phase
	if reason == run.ReasonSuspended {
		return Stopped
	}
	switch node.State() {
	case objecttree.Succeeded:
		return Done
	case objecttree.Failed:
		if node.DeletionFailed() {
			return GoingFailed
		}
		return toneOfPhase(phase)
	case objecttree.Running:
		switch {
		case node.Phase() == objecttree.Triggered:
			return NotYet
		case phase.IsDeletion():
			return Going
		case reason == lsv1alpha1.ReasonWaitingForPredecessors || phase == lsv1alpha1.PhasePendingDependencies:
			return NotYet
		case waitsByItself[reason]:
			return Waits
		}
		return Works
	default:
		return NotYet
	}
}

func toneOfPhase(phase lsv1alpha1.Phase) Tone {
	switch {
	case phase == lsv1alpha1.PhaseSucceeded:
		return Done
	case phase == lsv1alpha1.PhaseDeleteFailed:
		return GoingFailed
	case phase == lsv1alpha1.PhaseAborted:
		return Stopped
	case phase == lsv1alpha1.PhaseFailed:
		return Failed
	case phase.IsDeletion():
		return Going
	default:
		return Works
	}
}

// progressOf counts the deploy items below a node.
func progressOf(node *objecttree.Node) Progress {
	var p Progress
	node.Walk(func(below *objecttree.Node) {
		if below.Kind != objecttree.DeployItem {
			return
		}
		p.All++
		switch below.State() {
		case objecttree.Succeeded:
			p.Done++
		case objecttree.Failed:
			p.Failed++
		case objecttree.Running:
			if below.Phase() == objecttree.Triggered {
				p.Waiting++
			} else {
				p.Running++
			}
		default:
			p.Waiting++
		}
	})
	return p
}

// sinceOf returns since when a link of a chain has been in its state.
func sinceOf(link explain.Link) Status {
	status := statusOf(link.Node, link.Explanation)
	status.Since = cmp.Or(timeOf(link.Since), status.Since)
	return status
}

// tonesOfHolds are the tones of pipelines with a hold.
var tonesOfHolds = map[pipelinesv1alpha1.HoldReason]Tone{
	pipelinesv1alpha1.HoldSuspended:             Stopped,
	pipelinesv1alpha1.HoldUnsettled:             Works,
	pipelinesv1alpha1.HoldTargetNotReadable:     Unknown,
	pipelinesv1alpha1.HoldRollingOut:            Works,
	pipelinesv1alpha1.HoldSoaking:               Waits,
	pipelinesv1alpha1.HoldOutsideWindow:         Waits,
	pipelinesv1alpha1.HoldWaitingForApproval:    Person,
	pipelinesv1alpha1.HoldWaitingForMerge:       Person,
	pipelinesv1alpha1.HoldRetrying:              Waits,
	pipelinesv1alpha1.HoldFailed:                Failed,
	pipelinesv1alpha1.HoldAbandoned:             Stopped,
	pipelinesv1alpha1.HoldRejected:              Stopped,
	pipelinesv1alpha1.HoldRolledBack:            Failed,
	pipelinesv1alpha1.HoldStalled:               Failed,
	pipelinesv1alpha1.HoldNoStrategy:            Stopped,
	pipelinesv1alpha1.HoldNoTargets:             Waits,
	pipelinesv1alpha1.HoldHeld:                  Stopped,
	pipelinesv1alpha1.HoldReferenceNotPermitted: Waits,
	pipelinesv1alpha1.HoldNeverDeployed:         Waits,
	pipelinesv1alpha1.HoldInvalid:               Failed,
	pipelinesv1alpha1.HoldWithdrawing:           Works,
	pipelinesv1alpha1.HoldLeftOpen:              Waits,
	pipelinesv1alpha1.HoldLookingUp:             Works,
}

// graveness ranks tones, the gravest first.
var graveness = map[Tone]int{
	Failed: 1, GoingFailed: 1, Person: 2, Unknown: 3, Waits: 4, Stopped: 5, Works: 6, Going: 7, NotYet: 8, Done: 9,
}

// tonesOfPromotions are the tones of promotions.
var tonesOfPromotions = map[pipelinesv1alpha1.PromotionState]Tone{
	pipelinesv1alpha1.PromotionUnapproved:  Person,
	pipelinesv1alpha1.PromotionRejected:    Stopped,
	pipelinesv1alpha1.PromotionUnattempted: Waits,
	pipelinesv1alpha1.PromotionAttempting:  Works,
	pipelinesv1alpha1.PromotionFailed:      Failed,
	pipelinesv1alpha1.PromotionCreated:     Person,
	pipelinesv1alpha1.PromotionAbandoned:   Stopped,
	pipelinesv1alpha1.PromotionSuperseded:  Stopped,
	pipelinesv1alpha1.PromotionSucceeded:   Works,
	pipelinesv1alpha1.PromotionComplete:    Done,
	pipelinesv1alpha1.PromotionStalled:     Failed,
	pipelinesv1alpha1.PromotionRolledBack:  Failed,
}
