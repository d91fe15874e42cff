// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
)

// Reasons of errors.
const (
	ReasonInvalid    = "InvalidChart"
	ReasonNotFetched = "ChartNotFetched"
)

const operation = "FetchChart"

// invalid wraps an error that no retry fixes.
func invalid(err error) error {
	return failure.NewTerminal(failure.Details{
		Operation: operation, Reason: ReasonInvalid, Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)},
	}, err)
}

// unfetched wraps an error that a retry may resolve.
func unfetched(err error, codes ...string) error {
	return failure.NewRetryable(failure.Details{Operation: operation, Reason: ReasonNotFetched, Codes: codes}, err)
}
