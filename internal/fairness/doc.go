// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package fairness says what comes next of all that waits, such that nobody waits because somebody else has much to do.
//
// What waits stands in lanes, one for each namespace. The lanes take turns, so that one with a single item has it taken after as many
// others as there are lanes, however much waits in those. A lane in which as much is worked on as it may have is passed over. Within a
// lane what is more urgent comes first, and what came first of the same urgency. No rule is without an exception: now and then the turn is
// that of the less urgent, so that everything comes some time.
//
// The package decides and does nothing: those who use it bring locks, clocks and workers.
package fairness
