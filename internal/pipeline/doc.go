// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package pipeline decides what becomes of the revisions of an application in the environments of a Pipeline.
//
// Words:
//
//   - settled: all targets of an environment are readable, healthy and at one revision.
//   - run: the walk of a revision through the environments. The first environment settling on another revision begins one.
//   - promotion: the record of one revision on its way into one environment, in one run. It has a key, which is in everything
//     that it leaves outside, so that it is recognised again.
//   - attempt: what is done outside for a promotion: a pull request, an event, a change of an Installation. Attempts run beside
//     the passes of the controller; what is known of them is a fact like any other.
//   - withdrawal: closing the pull request of a promotion that was given up.
//   - hold: what a revision waits for.
//
// Everything that is remembered stands in the status of the Pipeline. A pass computes from the facts what the status has to
// be, and what is to be done follows from the status alone once it is stored. So a crash at any point leaves a status whose
// consequences are drawn again, and everything that is done outside looks for its own traces before it leaves new ones.
//
// The pass goes through stages, each a function from values to a value: see advance.
package pipeline
