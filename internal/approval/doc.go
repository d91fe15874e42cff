// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package approval is the HTTP server through which users and systems outside the cluster send requests to pipelines.
//
//	POST /approval/<namespace>/<pipeline>/<environment>/<revision>   approves a promotion that waits for approval
//	POST /promotion/<namespace>/<pipeline>/<environment>             triggers a reconcile, and changes nothing
//	POST /webhook/<provider>/<namespace>/<pipeline>/<environment>    reports a change at a Git server
//	GET  /healthz
//
// It trusts no caller. A call must prove possession of the key that the promotion of that environment names. The proof covers the path,
// so that it is valid for one pipeline, one environment and one revision. A call without proof always gets the same response, whether the
// pipeline exists or not, and never earlier than a fixed time after the call.
//
// The server runs on every replica. It never promotes: it writes an approval into the status of the pipeline, with optimistic locking, and
// the replica that holds the lease acts on it. So two replicas that are called at once have the same effect as one. docs/approvals.md is
// for callers.
package approval
