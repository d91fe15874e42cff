// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package dial connects to places that users name: clusters, Git hosts, registries, receivers of webhooks. Without it, anyone who may write
// such a name could make a controller talk to what only the controller can reach, for example the metadata service of its cloud or other
// processes of its pod.
//
// The address is checked after the name is resolved, for each attempt to connect. So neither a name that resolves to a forbidden address,
// nor one that resolves differently the second time, nor a redirect gets past it.
package dial
