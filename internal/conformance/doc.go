// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package conformance keeps the list of requirements, the tests and docs/conformance.md in step.
//
// A requirement is a list item of a page in docs/spec that begins with an ID and a title in bold:
//
//   - **JOB-11 A request starts exactly one job.** A root is triggered by ...
//
// A test proves a requirement if its name contains the ID, in one of two ways:
//
//	func TestJOB11_RequestSurvivesCrash(t *testing.T)   // or Fuzz; the ID without its hyphen
//	t.Run("JOB-11 the request survives a crash", ...)   // or the name of a table's case
//
// For the second way, every string literal of a test file that begins with an ID followed by a space counts as the name of a test, except
// the messages passed to Error, Fatal, Log and the like. A name may begin with several IDs: "JOB-11, JOB-13 ...".
//
// The page lists for each requirement the tests that prove it, or "not yet:" with the reason. Both together mean that it is proven in part.
// This package finds the tests; people write the reasons.
package conformance
