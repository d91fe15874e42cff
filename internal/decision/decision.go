// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package decision holds the one shape in which every kind says what to do next. A decision is data: who decides does
// not act, and who acts does not decide.
package decision

import "time"

// Of is a decision of a kind with phases P and effects E. E is a closed set of types; each effect is idempotent and
// uses deterministic names, so that a repetition after a crash is harmless.
type Of[P ~string, E any] struct {
	// Do lists the effects in the order in which they are executed. The first error ends the list.
	Do []E
	// Next is the phase once Do is done. Empty means that the phase stays.
	Next P
	// Why tells people what is going on. A decision that waits always has one.
	Why Reason
	// Wait ends the pass: nothing more can be decided until something changes. Without it the loop decides again at
	// once, on the facts as they are after Do.
	Wait bool
	// RequeueAfter is the latest time after which a waiting object is looked at again. It serves timeouts and the safety
	// net; what is waited for must also arrive as an event. Zero means events only.
	RequeueAfter time.Duration
	// DeferStatusWrite says that the status need not be stored at once: what it tells can be found out again, and nobody acts on it.
	// A wait that is over soon then costs no write.
	DeferStatusWrite bool
	// SaveFirst stores the status before Do is executed, if it has changed: what Do hands on to others must be known of
	// this object first.
	SaveFirst bool
	// ForceStatusWrite writes the status before Do is executed even if it has not changed. An effect that cannot be made
	// idempotent asks for it: the write proves that the decision was made on the newest version of the object, and
	// records the intent.
	ForceStatusWrite bool
}

// Reason is a CamelCase word out of a closed list and a sentence that names objects and times. The zero value means
// that there is nothing to tell.
type Reason struct {
	Code    string
	Message string
}
