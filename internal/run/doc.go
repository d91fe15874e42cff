// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package run contains what the kinds with jobs (installation, execution, deploy item) share: the identity of a job, how a request becomes
// exactly one job, and how the outcome of a step becomes phase, conditions and last error.
//
// Words:
//
//   - job: one walk through a tree of objects. Its ID is a UUID that each object passes to its sub-objects.
//   - finished: the job's ID has been copied to the finished ID. Nothing else means finished.
//   - request: the operation annotation by which a user requests a job of a root.
//   - grant: the internal annotation by which the controller answers a request with the ID of the future job.
//   - adoption: the status write that makes the granted ID the current job.
//
// # Exactly one job per request
//
// Metadata and status are written separately, so a request cannot be removed and turned into a job in one write. It takes two, each of
// which can be the last before a crash:
//
//  0. If the conditions report the end of a previous job, one status write clears that (see [Announce]). It changes nothing else, so it can
//     be repeated, and is undone if the request is withdrawn.
//  1. One metadata patch replaces the request with a grant with a new ID, and adds the finalizer. Before it the request still exists; after
//     it the request is gone, and its ID is fixed.
//  2. One status write adopts the granted ID, unless the status shows that it was adopted already. Repeating it does nothing, and so does a
//     grant that was copied to another object: it names the UID it was made for.
//
// Both writes carry the resourceVersion, so that only one of two controllers can make them.
package run
