// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package pipelines runs promotions: it observes the applications of pipelines, lets package pipeline decide, and carries out what was
// decided.
//
// A pass reads from memory only: the fleet knows the applications, the poller the pull requests, and attempts what was begun. Whatever
// takes time is an attempt, which goes on beside the passes and wakes its pipeline at the end. Three things are therefore independent of
// each other: a slow clone delays no observation, and a dead cluster no pull request.
//
// An attempt is recorded in the status before it begins. After a restart nothing is known of it; it is begun again, finds what it has
// left outside, and goes on from there.
package pipelines
