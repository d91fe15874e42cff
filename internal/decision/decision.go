// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package decision holds the one shape in which every kind says what to do next. A decision is data: who decides does
// not act, and who acts does not decide.
package decision

import "time"

// Of is a decision of a kind with phases P and effects E. E is a closed set of types; each effect is idempotent and uses deterministic
// names, so that a repetition after a crash is harmless.
type Of[P ~string, E any] struct {
	// Do lists the effects in execution order. The first error ends the list.
	Do []E
	// Next is the phase once Do is done. Empty means that the phase stays.
	Next P
	// Why explains to users what is happening. A decision that waits always has one.
	Why Reason
	// Wait ends the pass: nothing more can be decided until something changes. Without it, the loop decides again at once, on the facts after
	// Do.
	Wait bool
	// RequeueAfter is the maximum time until a waiting object is rechecked. It serves timeouts and the safety net; what is awaited must also
	// arrive as an event. Zero means events only.
	RequeueAfter time.Duration
	// DeferStatusWrite says that the status need not be stored at once: its content can be derived again, and nothing depends on it. A short
	// wait then costs no write.
	DeferStatusWrite bool
	// SaveFirst stores the status before Do is executed, if it has changed: what Do passes to others must be known of this object first.
	SaveFirst bool
	// ForceStatusWrite writes the status before Do is executed even if it has not changed. An effect that cannot be made idempotent requires
	// it: the write proves that the decision was made on the newest version of the object, and records the intent.
	ForceStatusWrite bool
}

// Reason is a CamelCase word from a closed list and a sentence that names objects and times. The zero value means that there is nothing to
// report.
type Reason struct {
	Code    string
	Message string
}
