// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"time"

	"espalier.dev/internal/decision"
)

// Codes of what a deployer waits for in a cluster.
const (
	// WaitingForKind means that a CRD is not served yet.
	WaitingForKind = "WaitingForKind"
	// WaitingForDeletion means that an object is being deleted, but held.
	WaitingForDeletion = "WaitingForDeletion"
	// WaitingForReadiness means that an object exists but is not ready.
	WaitingForReadiness = "WaitingForReadiness"
	// WaitingForCheck means that a custom readiness check does not hold.
	WaitingForCheck = "WaitingForReadinessCheck"
	// WaitingForExport means that a value to export is missing.
	WaitingForExport = "WaitingForExport"
)

// Wait is what must happen in a cluster before a step can continue.
type Wait struct {
	Reason decision.Reason
	// On are the objects whose changes can end the wait.
	On []Subject
	// Soon reports whether the wait ends soon and without an event.
	Soon bool
}

// soon is how long a cluster usually takes, at most, to serve a kind after its CRD is established.
const soon = 300 * time.Millisecond

// RecheckAfter returns when to check again if no event comes.
func (w *Wait) RecheckAfter(usual time.Duration) time.Duration {
	if w.Soon {
		return soon
	}
	return usual
}

// Pending is one object to wait for, and what it lacks.
type Pending struct {
	Subject Subject
	Missing string
	// Watched is the object to watch, if it is not the object itself.
	Watched *Subject
}

func (p Pending) watched() Subject {
	if p.Watched != nil {
		return *p.Watched
	}
	return p.Subject
}

// Await returns a Wait for the pending objects; nil if there are none. The message describes the first object, and gives the
// number of the others.
func Await(code string, pending []Pending) *Wait {
	if len(pending) == 0 {
		return nil
	}
	first := pending[0]
	wait := &Wait{Reason: decision.Reason{Code: code, Message: fmt.Sprintf("%s: %s", first.Subject, first.Missing)}}
	if others := len(pending) - 1; others > 0 {
		wait.Reason.Message += fmt.Sprintf(" (and %d more)", others)
	}
	for _, p := range pending {
		wait.On = append(wait.On, p.watched())
	}
	return wait
}
