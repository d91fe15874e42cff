// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/pipeline"
)

// Reference returns the place in the documentation that explains what is wrong: by the reason, or else by an error code. It is empty if
// there is none, for example because nothing is wrong, or because a third-party deployer uses its own reason.
func Reference(link Link) string {
	words := []string{link.Reason}
	if failed := link.Node.Status.LastError; failed != nil && link.Node.HasError() {
		for _, code := range failed.Codes {
			words = append(words, string(code))
		}
	}
	return ReferenceTo(words...)
}

// harmless holds are part of a normal promotion, or what users want.
var harmless = []pipelines.HoldReason{
	pipelines.HoldSuspended, pipelines.HoldHeld, pipelines.HoldRollingOut, pipelines.HoldSoaking, pipelines.HoldOutsideWindow,
	pipelines.HoldWaitingForApproval, pipelines.HoldWaitingForMerge,
}

// ReferenceOfHold returns the place in the documentation that explains why an environment of a pipeline does not get a revision; empty if
// nothing is wrong. The reason of an error says more than the hold that it has led to.
func ReferenceOfHold(p *pipelines.Pipeline, environment string, reason pipelines.HoldReason) string {
	words := causesOf(p.Status.Environments[environment], reason)
	if slices.Contains(harmless, reason) || reason == pipelines.HoldWithdrawing && len(words) == 0 {
		return ""
	}
	if reason != pipelines.HoldFailed && reason != pipelines.HoldRetrying { // The sections on these are about jobs.
		words = append(words, string(reason))
	}
	if place := ReferenceTo(words...); place != "" {
		return place
	}
	i := slices.IndexFunc(documented, func(w Word) bool { return w.Is == string(reason) && w.Area == areaOfHolds })
	if i < 0 {
		return ""
	}
	return documented[i].Reference()
}

// areaOfHolds is the area of the reasons of holds.
const areaOfHolds = "Pipelines: holds"

// causesOf returns the reasons of the errors that have led to a hold.
func causesOf(e pipelines.EnvironmentStatus, hold pipelines.HoldReason) []string {
	var words []string
	switch hold {
	case pipelines.HoldTargetNotReadable, pipelines.HoldInvalid:
		for _, target := range e.Targets {
			words = append(words, target.Reason)
		}
	case pipelines.HoldUnsettled:
		return []string{pipelines.ReasonEnvironmentNotReady}
	case pipelines.HoldLeftOpen:
		return []string{pipeline.ReasonLeftOpen}
	case pipelines.HoldFailed, pipelines.HoldRetrying, pipelines.HoldStalled:
		if e.Promotion != nil && e.Promotion.Error != nil {
			return []string{e.Promotion.Error.Reason}
		}
	case pipelines.HoldWithdrawing:
		if e.Withdrawal != nil && e.Withdrawal.Error != nil {
			return []string{e.Withdrawal.Error.Reason}
		}
	}
	return words
}

// ReferenceTo returns the place in the documentation that explains the first known one of some codes and reasons of errors; empty if no
// word is known.
func ReferenceTo(words ...string) string {
	for _, word := range words {
		i := slices.IndexFunc(documented, func(w Word) bool { return w.Is == word && w.Do != "" })
		if i >= 0 {
			return documented[i].Reference()
		}
	}
	return ""
}
