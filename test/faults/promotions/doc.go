// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package promotions lets the controller of pipelines live through whatever may befall it while it promotes: a crash before or after
// each request, to the API server, to the Git server and to the receiver of events, and answers that are lost or bad. Package
// invariant below it says what must hold nevertheless.
//
// The Git server of most runs is Git's own, with pull requests that are kept in memory and spoken of as Gitea does: a run costs
// nothing but a few calls of git, and its ledger is exact. A sample of the plans runs against a real Gitea, behind the same front.
//
// The tests take a sample of the plans; with the flag -full they take all of them, with -share=5 each day another fifth of the sample.
// A plan that fails prints the command that runs it alone:
//
//	go test -count=1 -run '^TestReplay$' ./test/faults/promotions -args -workload=merge -plan='provider:create:1:lost'
//
// A plan is a list of faults, joined by semicolons. Those of the API server are the ones of package espalier.dev/internal/testkit/faults.
// Those outside are PLACE:OPERATION:NUMBER:ACTION, where the place is provider or sink and the operations are those of operationOf and
// event; the actions are before, after, lost, lost-timeout, reset, 409, 429, 500 and 503, with the same meanings. FAULT@WRITE is
// something that is done to the processes at a write of the first one: see processFault.
//
// The folder seeded proves that the tests find mistakes: it makes them.
package promotions
