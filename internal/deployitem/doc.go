// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package deployitem decides what becomes of a deploy item, as its deployer sees it: pick up a job, deploy, finish; or
// pick up, delete, let go. What a particular deployer does in between is an effect.
//
//	job arrives -> Init -> Progressing -> Succeeded | Failed
//	            -> InitDelete -> Deleting -> gone | DeleteFailed
//
// Init and InitDelete need no waiting and are passed through within the write that records the pick-up. That write comes
// before the deployer touches anything, and carries what it is about to create. The write that ends the job carries
// the version of the item that the work began with, so that it loses against an interrupt, a timeout or a newer job.
//
// Package watchdog, below this one, decides what has to happen to an item whether or not it has a deployer.
package deployitem
