// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package pipeline decides what happens to the revisions of an application in the environments of a Pipeline.
//
// Words:
//
//   - settled: all targets of an environment are readable, healthy and at one revision.
//   - run: the passage of a revision through the environments. It starts when the first environment settles on a different revision.
//   - promotion: the record of one revision on its way into one environment, in one run. Its key is part of everything that it leaves
//     outside, so that this can be recognised.
//   - attempt: what is done outside for a promotion: a pull request, an event, a change of an Installation. Attempts run beside the passes
//     of the controller; what is known about them is a fact like any other.
//   - withdrawal: closing the pull request of an abandoned promotion.
//   - hold: what a revision waits for.
//
// All memory is in the status of the Pipeline. A pass computes the status from the facts, and what to do follows from the stored status
// alone. So after a crash at any point, the same consequences follow from the status again, and everything that is done outside looks for
// its own traces before it leaves new ones.
//
// The pass goes through stages, each a function from values to a value: see advance.
package pipeline
