// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package freshness lets nobody read anything older than what this process has written or has read from the API server before.
//
// A cache lags behind the API server, by milliseconds or by seconds. Whoever decides on what it shows may repeat work that is done, or
// take a state for new that it has already left behind. So the client of this package remembers the answer to each write, and each object
// that was read live, until the cache has come as far; a read returns whichever is newer. Nothing waits, and nothing is asked of the API
// server but what is missing. Readers need no rules of their own, and compare no versions.
//
// What somebody else has written is seen when the cache shows it, or by a live read. There is one exception: when this process takes over
// the lead, the cache may not show yet what the leader before has written. So each kind is listed once then, and what the cache shows of
// it counts only from there on.
//
// Remembered are the kinds of the two APIs that Espalier serves. Reads of other kinds pass through.
package freshness
