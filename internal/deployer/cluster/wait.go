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
}

// unwatched is how often to look for objects that are chosen by label, since no single one can be watched.
const unwatched = 15 * time.Second

// RecheckAfter returns when to look again if no event comes.
func (w *Wait) RecheckAfter(usual time.Duration) time.Duration {
	for _, subject := range w.On {
		if subject.Key.Name == "" {
			return min(usual, unwatched)
		}
	}
	return usual
}

// Pending is one object that is waited for, and what it lacks.
type Pending struct {
	Subject Subject
	Missing string
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
		wait.On = append(wait.On, p.Subject)
	}
	return wait
}
