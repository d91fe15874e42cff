// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package deployitem decides what the deployer of a deploy item does with it: pick up a job, deploy, finish; or pick up, delete, release.
// What a particular deployer does in between is an effect.
//
//	job arrives -> Init -> Progressing -> Succeeded | Failed
//	            -> InitDelete -> Deleting -> gone | DeleteFailed
//
// Init and InitDelete wait for nothing and pass within the write that records the pick-up. That write precedes any change in the target
// and records what the deployer is about to create. The write that ends the job carries the resourceVersion of the item that the work
// started with, so that an interrupt, a timeout or a newer job wins over it.
//
// Package watchdog, below this one, decides what must happen to an item whether or not it has a deployer.
package deployitem
