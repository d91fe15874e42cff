// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package failure names the kinds of errors that the controllers distinguish, so that one ladder can turn a kind into a
// phase, conditions and a retry.
//
//   - Terminal: a retry cannot help until a user changes something. The run ends as failed.
//   - Waiting: nothing is wrong, something else must happen first. It is never shown as an error.
//   - Retryable: everything else. The phase is retried with backoff.
//
// An error is classified at the edge where it arises, by the code that knows what it means; everything above only
// wraps it. Classification survives wrapping with %w and errors.Join.
package failure

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Kind is the answer to "what can be done about it".
type Kind int

const (
	// Retryable means that repeating the same step may succeed.
	Retryable Kind = iota
	// Waiting means that the step continues by itself when something named has happened.
	Waiting
	// Terminal means that repeating the step cannot succeed.
	Terminal
)

// String returns the word that metrics and logs use for the kind.
func (k Kind) String() string {
	switch k {
	case Waiting:
		return "waiting"
	case Terminal:
		return "terminal"
	default:
		return "retryable"
	}
}

// Details is what a status reports about an error.
type Details struct {
	// Operation is what was attempted, for example "RenderBlueprint".
	Operation string
	// Reason is a CamelCase word from a closed list.
	Reason string
	// Codes are the error codes of the API, for example "ERR_TIMEOUT".
	Codes []string
}

type classified struct {
	Details
	kind  Kind
	cause error
}

func (c *classified) Error() string { return c.cause.Error() }
func (c *classified) Unwrap() error { return c.cause }

// NewTerminal marks cause as an error that no retry can fix. A nil cause stays nil.
func NewTerminal(d Details, cause error) error { return classify(Terminal, d, cause) }

// NewRetryable adds details to an error that a retry may fix. A nil cause stays nil.
func NewRetryable(d Details, cause error) error { return classify(Retryable, d, cause) }

func classify(kind Kind, d Details, cause error) error {
	if cause == nil {
		return nil
	}
	d.Codes = slices.Clone(d.Codes)
	return &classified{Details: d, kind: kind, cause: cause}
}

// Wait says what must happen before a step can continue. It is an error only so that code far below a decision can return it.
type Wait struct {
	// Reason is a CamelCase word from a closed list, for example "WaitingForPredecessor".
	Reason string
	// For names the awaited object or event, for example "installation default/database".
	For string
	// Since is when the wait started; zero if unknown.
	Since time.Time
	// Until is when the wait ends by itself; zero if it does not.
	Until time.Time
}

// Error says what is waited for, since when and until when.
func (w *Wait) Error() string {
	text := "waiting for " + w.For
	if !w.Since.IsZero() {
		text += " since " + w.Since.UTC().Format(time.RFC3339)
	}
	if !w.Until.IsZero() {
		text += " until " + w.Until.UTC().Format(time.RFC3339)
	}
	return text
}

// KindOf classifies an error tree. In a chain, the outermost classification counts. Of joined errors, the worst one counts: a terminal
// error makes the whole terminal, because repeating the step encounters it again.
func KindOf(err error) Kind {
	switch e := err.(type) {
	case nil:
		return Retryable
	case *classified:
		return e.kind
	case *Wait:
		return Waiting
	case interface{ Unwrap() []error }:
		return worst(e.Unwrap())
	}
	if inner := errors.Unwrap(err); inner != nil {
		return KindOf(inner)
	}
	return Retryable
}

func worst(joined []error) Kind {
	kind := Waiting
	for _, err := range joined {
		switch KindOf(err) {
		case Terminal:
			return Terminal
		case Retryable:
			kind = Retryable
		}
	}
	if len(joined) == 0 {
		return Retryable
	}
	return kind
}

// ReasonUnnamed is the reason of an error without a reason.
const ReasonUnnamed = "Error"

// DetailsOf returns the details of the outermost classified error, or ReasonUnnamed when there are none.
func DetailsOf(err error) Details {
	var c *classified
	if errors.As(err, &c) {
		return c.Details
	}
	var w *Wait
	if errors.As(err, &w) {
		return Details{Reason: w.Reason}
	}
	return Details{Reason: ReasonUnnamed}
}

// IsObstacle reports whether an error is retried and names the obstacle in a distinct reason. A user may have to act on it, in contrast to
// a request that failed by chance.
func IsObstacle(err error) bool {
	if err == nil || KindOf(err) != Retryable {
		return false
	}
	reason := DetailsOf(err).Reason
	return reason != "" && reason != ReasonUnnamed
}

// AsWait returns what an error waits for, if it is nothing but a wait.
func AsWait(err error) (*Wait, bool) {
	if KindOf(err) != Waiting {
		return nil, false
	}
	var w *Wait
	ok := errors.As(err, &w)
	return w, ok
}

// NextAttempt returns when the next attempt makes sense, if an error says so; otherwise the zero time. Errors say it by a method of that
// name. An earlier retry fails without an attempt, and a later one gains nothing.
func NextAttempt(err error) time.Time {
	var postponed interface{ NextAttempt() time.Time }
	if !errors.As(err, &postponed) {
		return time.Time{}
	}
	return postponed.NextAttempt()
}

// Terminalf is NewTerminal with a formatted cause.
func Terminalf(d Details, format string, args ...any) error {
	return NewTerminal(d, fmt.Errorf(format, args...))
}
