// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package run holds what the run-shaped kinds (installation, execution, deploy item) share: the identity of a job, how
// a request becomes exactly one job, and the one ladder from the outcome of a step to phase, conditions and last error.
//
// Words:
//
//   - job: one walk through a tree of objects. Its ID is a UUID that each object passes to its sub-objects.
//   - finished: the job's ID has been copied to the finished ID. Nothing else means finished.
//   - request: the operation annotation by which a user asks a root for a job.
//   - grant: the internal annotation by which the controller answers a request with the ID of the job to come.
//   - adoption: the status write that makes the granted ID the current job.
//
// # Exactly one job per request
//
// Metadata and status are written apart, so a request cannot be removed and turned into a job in one write. It takes
// two, each of which can be the last before a crash:
//
//  0. If the conditions tell of the end of a job before, one status write takes that back (see [Announce]). It changes
//     nothing else, so it can be repeated, and is undone if the request is taken back.
//  1. One metadata patch replaces the request by a grant with a new ID, and adds the finalizer. Before it the request
//     is still there; after it the request is gone, and its ID is fixed.
//  2. One status write adopts the granted ID, unless the status says that it was adopted already. Repeating it does
//     nothing, and so does a grant that was copied to another object: it names the UID it was made for.
//
// Both writes carry the resourceVersion, so that of two controllers only one can make them.
package run
