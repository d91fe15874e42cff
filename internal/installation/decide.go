// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"time"

	"espalier.dev/internal/decision"
	"espalier.dev/internal/run"
)

// safetyNet stands for the interval after which a waiting installation is rechecked, in case the expected event does not arrive. Decide
// replaces it with the actual interval.
const safetyNet time.Duration = -1

// These are the reasons of decisions, in addition to those of the API and of package run.
const (
	reasonPredecessorFailed = "PredecessorFailed"
	reasonSubObjectGone     = "SubObjectDeleted"
	reasonSpecChanged       = "SpecChanged"
	reasonOrphanNotDeleted  = "OrphanNotDeleted"
	reasonSuccessorLeft     = "SuccessorNotDeleted"
	reasonDamaged           = "Damaged"
)

// Decide returns what an installation does next, in the flow that it follows. It is total.
func Decide(o Observed) Decision {
	d := decide(o)
	if d.RequeueAfter == safetyNet {
		d.RequeueAfter = run.Recheck(o.Since, o.Now)
	}
	return planned(o, d)
}

func decide(o Observed) Decision {
	switch {
	case o.NamespaceEnds:
		return decideEnding(o)
	case o.Damaged():
		return mend(o)
	case o.Continuous:
		return decideContinuously(o)
	default:
		return decideJob(o)
	}
}

// stay does nothing until something changes.
func stay(code, message string) Decision {
	return Decision{Wait: true, Why: because(code, message)}
}

// rest decides that there is nothing to do.
func rest(why string) Decision {
	return stay(run.ReasonIdle, why)
}

// wait waits for a change that an event reports.
func wait(code, message string) Decision {
	return Decision{Wait: true, RequeueAfter: safetyNet, Why: because(code, message)}
}

func because(code, message string) decision.Reason {
	return decision.Reason{Code: code, Message: message}
}
