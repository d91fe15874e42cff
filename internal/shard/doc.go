// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package shard divides work among processes, so that each tree of objects belongs to exactly one of them.
//
// The name of the root decides, by rendezvous hashing: of n shards, the one with the highest weight for a tree wins it. So a tree stays
// where it is when shards are added, or moves to an added one, and processes agree without talking to each other.
//
// While the number of shards changes, processes with both numbers run. Which of their shards have trees in common follows from the numbers
// alone (Overlaps). All processes that share the work are recorded in one Lease (Holders); a process waits for its shard until no process
// with an overlapping shard is recorded.
package shard
