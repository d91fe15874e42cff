// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package execution decides about executions: which deploy items must be created, changed, started, awaited and deleted, and in which
// order. It is pure. The caller reads an execution and its deploy items, and NewObserved and Decide return what happens next, and why; the
// controller then acts, and Settle returns the resulting status.
//
// There are two flows, with the same items, effects and exports. FlowOf returns the flow of an execution.
//
// In the job flow (rules_job*.go), everything happens in jobs that the object above passes on:
//
//	Init         the objects of all deploy items are created or updated; those that the spec no longer contains are deleted
//	             first, along with those whose type has changed, because a type cannot be changed
//	Progressing  each item is started as soon as all that it depends on have succeeded in this job
//	Completing   the exports of the items are collected in one DataObject
//	InitDelete   the meaning of the deletion is passed on to the items
//	Deleting     each item is deleted once no item that depends on it exists
//
// A job works on the spec that its Init has seen. A change of the spec during a job takes effect in the next one: from Progressing on, the
// items recorded in the status apply if the spec has changed.
//
// An item that a job has started is not written any more in that job.
//
// The status that lists the awaited items may be stored late. So a job can have started although the status does not show that: the items
// show it, because they carry the job.
//
// In the continuous flow (rules_continuous*.go), a change of the spec or of an item is the trigger, and generations show what has been
// done. Each pass puts the items into classes (classes.go) and acts on them:
//
//	Progressing  items are deleted, written and awaited, until all match the spec
//	Succeeded    all items have succeeded and the exports are collected
//	Failed       items have failed and none is in progress, the spec is wrong, or the execution was aborted
//	Deleting     each item is deleted once no item that depends on it exists
//
// Words of the continuous flow:
//
//   - completed: Succeeded or Failed.
//   - up to date: the status refers to the current generation of the spec.
//   - own: a phase Failed that the execution has reached by itself, because it was aborted or could not do its part. All other completed
//     phases follow from its items.
package execution
