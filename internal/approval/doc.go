// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package approval is the HTTP server through which people and machines outside of the cluster speak to pipelines.
//
//	POST /approval/<namespace>/<pipeline>/<environment>/<revision>   approves a promotion that waits for it
//	POST /promotion/<namespace>/<pipeline>/<environment>             asks to look now, and changes nothing
//	POST /webhook/<provider>/<namespace>/<pipeline>/<environment>    tells that something happened at a Git server
//	GET  /healthz
//
// It trusts nobody. A call has to prove that it knows the key which the promotion of that environment names, and the
// proof covers the path, so that it is good for one pipeline, one environment and one revision. Who cannot prove it
// gets one and the same answer, whether the pipeline exists or not, and not sooner than a fixed time after the call.
//
// The server runs on every replica. It never promotes: an approval is written into the status of the pipeline, with
// optimistic locking, and the replica that holds the lease acts on it. So two replicas that are asked at once do what
// one would do. docs/approvals.md is for those who call it.
package approval
