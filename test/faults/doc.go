// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package faults lets all controllers of both flows, the deployers and TargetSyncs live through whatever may befall them, and checks with
// package invariant that nothing of it can be seen afterwards.
//
// A workload is what users do: a story that ends at rest. It is run once undisturbed, as the reference, and then once per plan: a crash
// before or after each write, an answer that is lost, an error, a cache that lags, a second replica, a user who interferes. What befalls
// pods and nodes, target clusters and whole namespaces belongs to the stories about them. Each run has its own namespace, controllers and
// connection, so that many run at once. Those whose namespace is deleted share a server that empties namespaces.
//
// The tests of this folder take a sample of the plans; with the flag -full they take all of them, with -share=5 each day another fifth of
// the sample. The sample has each workload crash at each kind of write, that is verb and resource, and in two further runs each has
// all kinds of writes fail; in two more the caches of all kinds lag, one after the other. A run of the sample ends with the act in which
// what was planned has happened. A plan that fails prints the command that runs it alone:
//
//	go test -count=1 -run '^TestReplay$' ./test/faults -args -workload=life -plan='write:7:after'
//
// The folder seeded proves that the tests find mistakes: it makes them.
package faults
