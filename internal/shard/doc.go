// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package shard divides work between processes, such that each tree of objects belongs to exactly one of them.
//
// What decides is the name of the root, by rendezvous hashing: of n shards the one wins a tree that has the highest weight for it. So a
// tree stays where it is when shards are added, or moves to one that was added, and processes agree without talking to each other.
//
// While the number of shards changes, processes of both numbers run. Which of their shards have trees in common follows from the numbers
// alone (Overlaps). All processes that share the work are recorded in one Lease (Holders); whoever wants a shard waits until nobody is
// recorded whose shard overlaps with it.
package shard
