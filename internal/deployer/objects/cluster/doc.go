// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster contains what the parts of a deployer need of the cluster that it works in: a client, the kinds, events of single
// objects; and what they exchange: which object is meant, what it waits for, and why the API server rejected a request, without the
// values of the request.
package cluster
