// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package continuous decides what installations and executions do in the continuous flow, in which a change of the spec
// or of an import is the trigger and generations tell what has been done. The facts, children and effects are those of
// packages installation and execution; what differs is when they are used. Deploy items have their decision in package
// deployitem, because a deployer works in the same way in both flows.
//
// Words:
//
//   - completed: Succeeded, Failed or Aborted.
//   - up to date: the status speaks of the present generation of the spec.
//   - busy: not completed, not up to date, or asked for something by an annotation.
//   - outdated: the spec or an import has changed since what is below was last updated.
//   - own: a phase that the object has reached by itself, because it was aborted or its update failed. All other completed
//     phases follow from what is below.
//
// An installation goes through these phases:
//
//	PendingDependencies   it is outdated, and waits for predecessors and imports
//	Progressing           what is below is busy
//	Succeeded | Failed | Aborted
//	Deleting              what is below is deleted, or something keeps it from being deleted
package continuous
