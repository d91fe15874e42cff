// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package forecast determines what a job changes in the target of a deploy item. It runs the deployers' own code on a cluster that checks
// every request and stores nothing: DryRun ensures that in the transport, so that no code above it can write by mistake.
package forecast
