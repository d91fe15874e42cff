// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package prune takes objects away from a cluster: group by group, only those that are ours, each only after a look at
// what is there now, and by its UID.
package prune
