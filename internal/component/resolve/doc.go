// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package resolve reads component descriptors from repositories and collects the closure of a component.
//
// A Source is a repository, or several of them. Two kinds need no network: Memory holds descriptors in memory, and a
// directory of descriptors is read into one by ReadDirectory. Neither cares for repository contexts: they stand in for
// whatever repository a reference names.
package resolve
