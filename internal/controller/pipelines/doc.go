// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package pipelines runs promotions: it observes the applications of pipelines, lets package pipeline decide, and executes the decisions.
//
// A pass only reads from memory: applications from the fleet, pull requests from the poller, and started attempts from attempts. Slow work
// is an attempt, which runs concurrently with the passes and triggers its pipeline at the end. So these are independent of each other: a
// slow clone delays no observation, and an unreachable cluster delays no pull request.
//
// An attempt is recorded in the status before it starts. After a restart, it starts again, finds what it has created outside the cluster,
// and continues from there.
package pipelines
