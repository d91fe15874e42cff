// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e runs all controllers together against a real API server and looks at them as their users do: through the API.
//
//   - takeover_*_test.go: a namespace as Landscaper leaves it behind, finished, failed, or in the middle of something, goes on here.
//   - contract_test.go: executions and deploy items made by hand, and deployers of others.
//   - mistakes_*_test.go: what Landscaper gets wrong is right here; docs/migration.md names these tests.
//   - restore_test.go: a namespace that was lost, and restored as docs/how-to/restore.md says, goes on.
//   - case_*_test.go: acceptance cases, from manifests in testdata/cases.
//
// Targets lead to the same API server, so what is deployed can be looked at in the namespace of the test.
package e2e
