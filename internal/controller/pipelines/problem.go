// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines

import (
	"cmp"
	"errors"
	"time"

	"espalier.dev/internal/failure"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/pipeline"
)

// reasonFailed is for unclassified errors.
const reasonFailed = "AttemptFailed"

// changeable is an error together with the inputs that must change before another attempt can succeed.
type changeable struct {
	error
	inputs string
}

func (c changeable) Unwrap() error { return c.error }

// problemOf converts an error for the status.
func problemOf(err error) pipeline.AttemptError {
	problem := pipeline.AttemptError{
		Reason:    cmp.Or(failure.DetailsOf(err).Reason, reasonFailed),
		Message:   masking.Words(err),
		Permanent: failure.KindOf(err) == failure.Terminal,
	}
	if wait := gitprovider.RetryAfter(err); wait > 0 {
		problem.RetryAfter = time.Now().Add(wait)
	}
	var c changeable
	if errors.As(err, &c) {
		problem.Inputs = c.inputs
	}
	return problem
}
