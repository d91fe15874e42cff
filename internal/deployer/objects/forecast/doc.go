// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package forecast says what a job would change in the target of a deploy item. It has the deployers' own code work on a cluster that
// checks every request and stores nothing: DryRun sees to that in the transport, so that no code above it can write by mistake.
package forecast
