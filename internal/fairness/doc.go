// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package fairness selects what comes next in a queue, so that no namespace waits because another one is busy.
//
// Waiting items are in lanes, one per namespace. The lanes take turns, so that the only item of a lane waits for at most one item of each
// other lane, however many wait there. A lane that has reached its limit of concurrent work is skipped. Within a lane, more urgent items
// come first, then older ones. There is one exception: now and then the turn goes to the less urgent, so that nothing starves.
//
// The package decides and does nothing else: its users add locks, clocks and workers.
package fairness
