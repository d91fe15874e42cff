// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"fmt"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
)

// Reasons of the errors of this package.
const (
	// ReasonInvalid is for a Target with unusable content.
	ReasonInvalid = "TargetInvalid"
	// ReasonRefusedAddress is for a Target with an address that must not be dialled.
	ReasonRefusedAddress = "TargetAddressRefused"
	// ReasonSecretMissing is for a Target whose Secret, or the key in it, does not exist.
	ReasonSecretMissing = "TargetSecretMissing"
	// ReasonTokenRefused is for a Target whose service account does not get a token.
	ReasonTokenRefused = "TargetTokenRefused"
	// ReasonUnreachable is for a cluster that does not answer.
	ReasonUnreachable = "TargetUnreachable"
)

const (
	operationResolve = "ResolveTarget"
	operationConnect = "ConnectTarget"
)

// invalid returns the error for content that no retry fixes. Its text never contains a value of the content.
func invalid(format string, args ...any) error {
	return failure.Terminalf(failure.Details{
		Operation: operationResolve,
		Reason:    ReasonInvalid,
		Codes:     []string{string(lsv1alpha1.ErrorConfigurationProblem)},
	}, format, args...)
}

// missing returns the error for an object that may still be created.
func missing(reason, format string, args ...any) error {
	return failure.NewRetryable(failure.Details{Operation: operationResolve, Reason: reason}, fmt.Errorf(format, args...))
}

// Unreachable is the error of a cluster that does not answer. It contains the time of the next attempt.
type Unreachable struct {
	// Server is the URL of the API server.
	Server string
	// Since is when the uninterrupted series of failed attempts started.
	Since time.Time
	// Until is when the next attempt may be made. Until then, requests fail without one.
	Until time.Time
	cause error
}

// Error names the server and both times.
func (u *Unreachable) Error() string {
	return fmt.Sprintf("the target cluster %s has been unreachable since %s, next attempt at %s: %v",
		u.Server, u.Since.UTC().Format(time.RFC3339), u.Until.UTC().Format(time.RFC3339), u.cause)
}

// NextAttempt returns when a request may reach the cluster again. A retry at that time matches the message.
func (u *Unreachable) NextAttempt() time.Time { return u.Until }

// Unwrap returns why the last attempt failed.
func (u *Unreachable) Unwrap() error { return u.cause }
