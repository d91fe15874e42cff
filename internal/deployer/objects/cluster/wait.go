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
	// WaitingForKind says that a custom resource definition is not served yet.
	WaitingForKind = "WaitingForKind"
	// WaitingForDeletion says that an object is being deleted, and something holds it.
	WaitingForDeletion = "WaitingForDeletion"
	// WaitingForReadiness says that an object exists but is not ready.
	WaitingForReadiness = "WaitingForReadiness"
	// WaitingForCheck says that a custom readiness check does not hold.
	WaitingForCheck = "WaitingForReadinessCheck"
	// WaitingForExport says that a value to export is not there.
	WaitingForExport = "WaitingForExport"
)

// Wait is what has to happen in a cluster before a step can go on.
type Wait struct {
	Reason decision.Reason
	// On are the objects whose change ends the wait.
	On []Subject
	// Soon says that what is waited for comes within moments and without an event.
	Soon bool
}

// soon is how long a cluster takes at most, as a rule, until it serves a kind whose definition is established.
const soon = 300 * time.Millisecond

// RecheckAfter returns when to look again if no event comes.
func (w *Wait) RecheckAfter(usual time.Duration) time.Duration {
	if w.Soon {
		return soon
	}
	return usual
}

// Pending is one object that is waited for, and what it lacks.
type Pending struct {
	Subject Subject
	Missing string
	// Watched is what to watch, if it is not the object itself.
	Watched *Subject
}

func (p Pending) watched() Subject {
	if p.Watched != nil {
		return *p.Watched
	}
	return p.Subject
}

// Await makes a Wait of what is pending; nil if nothing is. The message tells of the first object, and how many others
// there are.
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
