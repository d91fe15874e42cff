// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package installation decides what an installation does in the job flow.
//
// Words:
//
//   - child: an object below the installation: a nested installation, or the execution.
//   - leaving: a child that is being deleted while the installation goes on, because the blueprint no longer contains it
//     or because somebody has deleted it.
//   - predecessor: a sibling that exports what the installation imports; successor is the reverse.
//   - hand down: make the installation's job the current one of a child.
//
// A job of an installation passes these phases. Only Init, CleanupOrphaned, Progressing and Deleting wait for others.
//
//	Init              predecessors, imports, objects of the own context, children
//	CleanupOrphaned   leaving children are gone
//	ObjectsCreated    everything is there
//	Progressing       the job is handed down, all children have finished
//	Completing        exports, successors
//	Succeeded
//
//	InitDelete        no successor is left, children are deleted
//	TriggerDelete     everything is marked
//	Deleting          the job is handed down, all children are gone
package installation
