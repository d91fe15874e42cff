// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package prune removes objects from a cluster: group by group, only those that are ours, each only after a live read, and by its UID.
package prune
