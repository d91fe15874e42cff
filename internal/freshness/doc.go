// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package freshness ensures that no read returns anything older than what this process has already written or read from the API server.
//
// A cache lags behind the API server, by milliseconds or by seconds. A decision based on it may repeat work that is done, or mistake an old
// state for a new one. So the client of this package keeps the response to each write, and each object read live, until the cache has
// caught up; a read returns whichever is newer. Reads never wait, and only missing objects are requested from the API server. Readers need
// no special rules and compare no versions.
//
// Writes by other clients become visible when the cache shows them, or through a live read. There is one exception: when this process
// becomes leader, the cache may not show the writes of the previous leader yet. So each kind is listed once at that point, and older cache
// entries are ignored.
//
// The client covers the kinds of the two APIs that Espalier serves. Reads of other kinds pass through.
package freshness
