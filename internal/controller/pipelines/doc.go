// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package pipelines runs promotions: it observes the applications of pipelines, lets package pipeline decide, and carries out the
// decisions.
//
// A pass only reads from memory: the fleet knows the applications, the poller the pull requests, and attempts what has started. Whatever
// takes time is an attempt, which runs beside the passes and triggers its pipeline at the end. So these are independent of each other: a
// slow clone delays no observation, and a dead cluster delays no pull request.
//
// An attempt is recorded in the status before it starts. After a restart nothing is known about it; it starts again, finds what it has left
// outside, and continues from there.
package pipelines
