// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
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

// ReferenceOfHold returns the place in the documentation that explains why an environment of a pipeline does not get a revision; empty if
// nothing is wrong. The reason of an error says more than the hold that it has led to.
func ReferenceOfHold(p *pipelines.Pipeline, environment string, reason pipelines.HoldReason) string {
	var words []string
	recorded := p.Status.Environments[environment]
	switch reason {
	case pipelines.HoldTargetNotReadable:
		for _, target := range recorded.Targets {
			words = append(words, target.Reason)
		}
	case pipelines.HoldFailed, pipelines.HoldRetrying:
		if recorded.Promotion == nil || recorded.Promotion.Error == nil {
			return "" // The section on Failed is about jobs.
		}
		return ReferenceTo(recorded.Promotion.Error.Reason)
	}
	return ReferenceTo(append(words, string(reason))...)
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
