// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package resolve reads component descriptors from repositories and collects the closure of a component.
//
// A Source is a repository, or several of them. Two kinds need no network: Memory contains descriptors in memory, and ReadDirectory reads a
// directory of descriptors into one. Both ignore repository contexts: they replace any repository that a reference names.
package resolve
