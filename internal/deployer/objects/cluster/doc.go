// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster is what the parts of a deployer that works in a cluster need of it: a client, the kinds, events of
// single objects; and what they tell each other: which object is meant, what is waited for, and why the API server
// refused a request, without the values of the request.
package cluster
