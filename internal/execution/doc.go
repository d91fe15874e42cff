// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package execution decides about executions: which deploy items have to be created, changed, started, awaited and deleted, and
// in which order. It is pure. Whoever has read an execution and its deploy items calls NewObserved and Decide and knows what
// happens next, and why; the controller then acts, and Settle says what the status becomes.
//
// There are two flows, with the same items, effects and exports. FlowOf tells which one an execution follows.
//
// In the job flow (rules_job*.go) everything happens in jobs that somebody passes on:
//
//	Init         the objects of all deploy items are brought about; those that the spec no longer contains are deleted
//	             first, along with those whose type has changed, because a type cannot be changed
//	Progressing  each item is started as soon as all that it depends on have succeeded in this job
//	Completing   the exports of the items are collected in one DataObject
//	InitDelete   what the deletion means is passed on to the items
//	Deleting     each item is deleted when none that depends on it exists any more
//
// A job works on the spec that its Init has seen. A change of the spec during a job has no effect before the next one:
// from Progressing on, what the status records of the items counts if the spec has changed.
//
// An item that has been started by a job is not written any more in that job.
//
// A status that says that items are awaited may be stored late. So a job can have begun although the status does not tell:
// the items know, for they carry the job.
//
// In the continuous flow (rules_continuous*.go) a change of the spec or of an item is the trigger, and generations tell what has
// been done. Each pass puts the items into classes (classes.go) and does what follows from them:
//
//	Progressing  items are deleted, written and awaited, until all are as the spec wants them
//	Succeeded    all items have succeeded and the exports are collected
//	Failed       items have failed and none is in work, the spec is wrong, or the execution was aborted
//	Deleting     each item is deleted when none that depends on it exists any more
//
// Words of the continuous flow:
//
//   - completed: Succeeded or Failed.
//   - up to date: the status speaks of the present generation of the spec.
//   - own: a phase Failed that the execution has reached by itself, because it was aborted or could not do its part. All other
//     completed phases follow from its items.
package execution
