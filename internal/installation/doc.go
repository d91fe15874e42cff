// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package installation decides what an installation does, in either flow. In the job flow, a request is the trigger, and the job ID shows
// what has been done; in the continuous flow, a change of the spec or of an import is the trigger, and generations show it. The rules of
// the flows are in rules_job*.go and rules_continuous*.go; facts, children and effects are shared.
//
// Words:
//
//   - child: an object below the installation: a nested installation, or the execution.
//   - leaving: a child that is being deleted while the installation continues, because the blueprint no longer contains it or because
//     another client has deleted it.
//   - predecessor: a sibling that exports what the installation imports; successor is the reverse.
//   - pass on: make the installation's job the current one of a child.
//
// Words of the continuous flow:
//
//   - completed: Succeeded, Failed or Aborted.
//   - up to date: the status refers to the current generation of the spec.
//   - busy: not completed, not up to date, or with a pending request in an annotation.
//   - outdated: the spec or an import has changed since the objects below were last updated.
//   - own: a phase that results from the installation itself, because it was aborted or its update failed. All other completed phases
//     follow from the objects below.
//
// A job of an installation passes these phases. Only Init, CleanupOrphaned, Progressing and Deleting wait for others.
//
//	Init              predecessors, imports, objects of the own context, children
//	CleanupOrphaned   leaving children are gone
//	ObjectsCreated    everything exists
//	Progressing       the job is passed on, all children have finished
//	Completing        exports, successors
//	Succeeded
//
//	InitDelete        no successor is left, children are deleted
//	TriggerDelete     everything is marked
//	Deleting          the job is passed on, all children are gone
//
// In the continuous flow it passes these:
//
//	PendingDependencies   it is outdated, and waits for predecessors and imports
//	Progressing           what is below is busy
//	Succeeded | Failed | Aborted
//	Deleting              what is below is deleted, or something prevents its deletion
package installation
