// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package pipeline decides what happens to the revisions of an application in the environments of a Pipeline.
//
// Words:
//
//   - settled: all targets of an environment are readable, healthy and at one revision.
//   - run: the passage of a revision through the environments. It starts when the first environment settles on a different revision.
//   - promotion: the record of one revision on its way into one environment, in one run. Its key is part of everything that it creates,
//     so that later passes can find it.
//   - attempt: the execution of a promotion: a pull request, an event, a change of an Installation. Attempts run concurrently with the
//     passes of the controller; their state is a fact like any other.
//   - withdrawal: closing the pull request of an abandoned promotion.
//   - hold: what a revision waits for.
//
// All state is in the status of the Pipeline. A pass computes the status from the facts, and the effects follow from the stored status
// alone. So after a crash at any point, the status leads to the same effects again, and every attempt looks for results of its earlier
// executions before it creates new ones.
//
// The pass goes through stages, each a function from values to a value: see advance.
package pipeline
