// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package graph orders things that depend on each other: sibling installations by what they export and import, deploy
// items by dependsOn, stages of pipelines.
//
// A Graph is built once from named nodes and never changes. It may contain cycles: a request for its order then
// returns a CycleError that names one cycle completely. Questions about a run in progress (Ready, Blocked) are total:
// they answer for every graph and every Progress.
//
// Results keep the order in which the nodes were given, where the dependencies leave a choice, so that equal input
// gives equal output. Each question costs time linear in nodes and dependencies.
package graph
