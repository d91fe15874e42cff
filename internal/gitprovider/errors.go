// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitprovider

import (
	"errors"
	"fmt"
	"time"

	"espalier.dev/internal/failure"
)

// Class is the kind of a provider error. Its text is the reason in a status.
type Class string

const (
	// Unauthenticated means that the provider rejects the credentials. Retries are useless until the Secret changes.
	Unauthenticated Class = "ForgeCredentialsRefused"
	// Forbidden means that the credentials lack a right. Retries are useless until they get it, or until the Secret changes.
	Forbidden Class = "ForgeForbidden"
	// NotFound means that the repository or the pull request does not exist, or is invisible with these credentials.
	NotFound Class = "ForgeNotFound"
	// Refused means that the provider understands the request and rejects it, for example because a branch does not exist.
	Refused Class = "ForgeRefused"
	// Misconfigured means that the URL, the credentials or the address are unusable, which was detected without the provider.
	Misconfigured Class = "ForgeMisconfigured"

	// Duplicate means that such a pull request already exists and can be found.
	Duplicate Class = "PullRequestExists"
	// Conflict means that something else changed concurrently; a retry sees the change.
	Conflict Class = "ForgeConflict"
	// RateLimited means that there were too many requests; RetryAfter is how long to wait.
	RateLimited Class = "ForgeRateLimited"
	// Unavailable means that the provider could not be reached, or failed.
	Unavailable Class = "ForgeUnavailable"
	// Untrusted means that the certificate of the provider is not trusted.
	Untrusted Class = "ForgeUntrusted"
	// Malformed means that the response is not documented for the provider, or too large. Often it comes from a proxy.
	Malformed Class = "ForgeAnswerMalformed"
)

// Permanent reports whether a retry is useless until a user changes something: the Pipeline, its Secret, or something at the provider.
func (c Class) Permanent() bool {
	switch c {
	case Unauthenticated, Forbidden, NotFound, Refused, Misconfigured:
		return true
	}
	return false
}

// Error is an error of a provider. It never contains credentials.
type Error struct {
	// Operation is what was attempted, for example "open a pull request".
	Operation string
	// Repository is the repository concerned; empty if not known yet.
	Repository string
	Class      Class
	// Status is the status of the response; zero if there was none.
	Status int
	// RetryAfter is how long the provider asks to wait; zero if it does not.
	RetryAfter time.Duration
	// Message describes what happened and what to do about it.
	Message string
	// Cause, if there is one.
	Cause error
}

// Error describes what was attempted, where, and what happened.
func (e *Error) Error() string {
	text := e.Message
	if e.Cause != nil {
		text = e.Cause.Error()
		if e.Message != "" {
			text = e.Message + ": " + text
		}
	}
	if e.Repository != "" {
		text = e.Repository + ": " + text
	}
	if e.Operation != "" {
		text = e.Operation + ": " + text
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Classified returns the error with its kind in package failure.
func (e *Error) Classified() error {
	details := failure.Details{Operation: e.Operation, Reason: string(e.Class)}
	if e.Class.Permanent() {
		return failure.NewTerminal(details, e)
	}
	return failure.NewRetryable(details, e)
}

// ClassOf returns the class of an error, or Unavailable if it has none.
func ClassOf(err error) Class {
	var known *Error
	if errors.As(err, &known) {
		return known.Class
	}
	return Unavailable
}

// RetryAfter returns how long the provider asks to wait before the next request, or zero if it does not.
func RetryAfter(err error) time.Duration {
	var known *Error
	if errors.As(err, &known) {
		return known.RetryAfter
	}
	return 0
}

// Misconfiguredf returns an error about the settings of a repository.
func Misconfiguredf(format string, args ...any) error {
	return (&Error{Class: Misconfigured, Message: fmt.Sprintf(format, args...)}).Classified()
}
