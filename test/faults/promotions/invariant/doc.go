// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package invariant holds the rules for promotions: over every state that a Pipeline has had, and over the ledger of what has happened
// outside, at the Git server and at the receiver of events. A rule is a pure function from evidence to what violates it.
//
//	Promotions  I9  a promotion succeeds at most once, and leaves one pull request and one event at most
//	Ledger      I10 at most one pull request is open per environment, and at rest none for a revision that is not current
//	Decisions   I11 nothing manual begins without the approval of that very revision; a nonce counts once,
//	            I12 nothing begins while a target before it, or its own, is unhealthy or unreadable
//	Status      I13 generations and conditions tell the truth
//	Ending      I14 the end is that of an undisturbed run
//
// I15, the bound on writes, is the one of package espalier.dev/test/faults/invariant.
package invariant
