// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster contains what the parts of a deployer need from the cluster that they work in (a client, the kinds, events of single
// objects) and what they exchange: an object, what it waits for, and why the API server rejected a request, without the values of the
// request.
package cluster
