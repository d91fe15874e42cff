// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitprovider

import (
	"errors"
	"fmt"
	"time"

	"espalier.dev/internal/failure"
)

// Class says what kind of trouble there was with a provider. Its text is the reason in a status.
type Class string

const (
	// Unauthenticated means that the provider does not know the credentials. Nothing helps until the Secret changes.
	Unauthenticated Class = "ForgeCredentialsRefused"
	// Forbidden means that the credentials do not permit it. Nothing helps until they do, or until the Secret changes.
	Forbidden Class = "ForgeForbidden"
	// NotFound means that the repository or the pull request does not exist, or must not be seen with these credentials.
	NotFound Class = "ForgeNotFound"
	// Refused means that the provider understood the request and does not accept it: a branch that does not exist, for example.
	Refused Class = "ForgeRefused"
	// Misconfigured means that the url, the credentials or the address are not usable, which was found out without the provider.
	Misconfigured Class = "ForgeMisconfigured"

	// Duplicate means that there is such a pull request already. Whoever looks for it finds it.
	Duplicate Class = "PullRequestExists"
	// Conflict means that something else changed at the same moment; a retry sees what.
	Conflict Class = "ForgeConflict"
	// RateLimited means that there were too many requests; RetryAfter says when there may be another.
	RateLimited Class = "ForgeRateLimited"
	// Unavailable means that the provider could not be reached, or failed.
	Unavailable Class = "ForgeUnavailable"
	// Untrusted means that the certificate of the provider is not one that we trust.
	Untrusted Class = "ForgeUntrusted"
	// Malformed means that the answer is not what the provider is documented to answer, or too large. Often a proxy answered instead.
	Malformed Class = "ForgeAnswerMalformed"
)

// Permanent reports whether a retry is useless until somebody changes something: the Pipeline, its Secret, or something at the provider.
func (c Class) Permanent() bool {
	switch c {
	case Unauthenticated, Forbidden, NotFound, Refused, Misconfigured:
		return true
	}
	return false
}

// Error is what went wrong with a provider. It never contains credentials.
type Error struct {
	// Operation is what was attempted, for example "open a pull request".
	Operation string
	// Repository in which; empty if that is not known yet.
	Repository string
	Class      Class
	// Status of the answer; zero if there was none.
	Status int
	// RetryAfter is how long the provider wants us to wait; zero if it did not say.
	RetryAfter time.Duration
	// Message says what happened and what to do about it.
	Message string
	// Cause, if there is one.
	Cause error
}

// Error tells what was attempted, where, and what happened.
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

// Classified returns the error with the kind that package failure knows.
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

// RetryAfter returns how long the provider wants us to wait before the next request, or zero if it did not say.
func RetryAfter(err error) time.Duration {
	var known *Error
	if errors.As(err, &known) {
		return known.RetryAfter
	}
	return 0
}

// Misconfiguredf says what is wrong with the settings of a repository.
func Misconfiguredf(format string, args ...any) error {
	return (&Error{Class: Misconfigured, Message: fmt.Sprintf(format, args...)}).Classified()
}
