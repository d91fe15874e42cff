// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package loop runs one kind of object: observe, decide, act, settle, patch, announce. It is written once and used by every kind; the
// differences are in the kind's pure package and in its observations and effects.
//
//	observe   all reads, none later. An unreadable fact is an error or explicitly unknown, never a guess.
//	decide    pure: facts -> effects, next phase, reason. No context, client, clock or logger.
//	act       executes the effects in order. Each is idempotent and uses deterministic names; a destructive one
//	          carries a UID precondition, because it may run on a stale view.
//	settle    pure: facts, decision and error -> status. The only place that turns an error into a phase.
//	patch     one status write per pass. It carries the resourceVersion that was observed, so that a transition
//	          computed from a stale object is rejected.
//	announce  events, metrics and spans, only for what was written.
//
// While a decision does not wait, the loop decides again within the same pass, on the facts after the effects. So phases that
// do not wait cost no separate write.
//
// # Why a crash loses nothing
//
// A crash before the patch leaves the stored phase unchanged. The next pass enters the same phase again, observes again, and repeats the
// same idempotent effects: those already done change nothing. After a crash after the patch, the next pass finds the new phase. A write
// whose response was lost is the same as a crash after it. An effect that cannot be made idempotent sets [decision.Of.ForceStatusWrite]:
// its intent is stored, under the same optimistic lock, before it happens.
//
// # Why a stale cache does no harm
//
// All reads go through the client of package freshness, which returns nothing older than what this process has written or read live.
// So a pass never decides on an object as it was before its own last write, and the loop compares no versions. A foreign write that the
// cache does not show yet makes the patch fail with a conflict, which is retried silently.
//
// # What wakes an object
//
// Its own status writes do not wake an object (see [Loop.Awake]): the pass that made the write
// has already decided everything, and an error that is retried with backoff would otherwise retry at once.
package loop
