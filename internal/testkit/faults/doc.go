// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package faults makes the connection between a controller and its API server fail on purpose, and only in ways in which
// Kubernetes may fail.
//
//	plan, err := faults.Parse("write:7:after")
//	transport := faults.New(plan)
//	manager, err := ctrl.NewManager(transport.Config(server.Config()), options)
//	...
//	<-transport.Crashed() // stop the manager, then start another one over a new transport
//
// # Vocabulary
//
// A request has a signature: verb, resource, subresource, object, and the fields that its body names. A write is a request that
// stores something; writes are numbered from 1 in the order in which they arrive. Not numbered are Events and Leases, which
// are written in the background and would make the numbers of a workload differ from run to run, reviews, and dry runs. A
// crash ends the connection: every later request fails and open watches break; what had been sent may still be executed.
//
// # Plans
//
// A plan is a list of faults, joined by semicolons, and has one printed form, so that a failing test can say how to repeat it.
// A fault of requests is WHAT:WHICH:ACTION.
//
//	WHAT    write, request, or VERB/RESOURCE[/SUBRESOURCE][=NAME], where VERB may be write or *, RESOURCE may carry
//	        its group, and SUBRESOURCE may be *
//	WHICH   a number, * for all, or P%@SEED for a share that depends on nothing but the seed and the number
//	ACTION  before       crash instead of sending
//	        after        crash once it was executed
//	        lost         execute, then reset the connection instead of answering
//	        lost-timeout execute, then time out instead of answering
//	        reset        reset the connection instead of sending
//	        timeout      time out instead of sending
//	        slow=D       wait before sending
//	        409 429 500 503 504   answer so instead of sending; 429 asks to come back after a second
//
// A fault of watches is watch:RESOURCE:ACTION[:FROM[..TO]]. FROM and TO are numbers of writes: it begins just before write FROM is
// sent and ends once write TO was answered. TO may be +D, a time after the begin. Without FROM, or with 0, it begins at once;
// without TO it lasts until the test ends it. Because a controller may be waiting for the very event that is withheld, a
// hold that ends with a write that never comes ends after MaxHold.
//
//	ACTION  hold         withhold events; at the end deliver them, all and in order
//	        relist       withhold events; at the end answer 410 Gone, so that the client lists again and never sees them
//	        slow=D       deliver each event D later
//	        cut          close the watch at FROM; the client resumes it
//	        gone         answer 410 Gone at FROM
//
// # What is never done
//
// Events of one watch are never dropped, repeated or reordered: the API server promises that, and a test that breaks
// the promise finds false faults. Different resources may lag differently; that is where stale reads come from. The events
// with which a streamed list begins count as the list and pass a hold.
package faults
