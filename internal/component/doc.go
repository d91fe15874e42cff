// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package component parses component descriptors of the Open Component Model (OCM) and provides the functions with which templates and
// blueprints query components. Everything here is a function of its input; package resolve below it reads
// descriptors from repositories.
//
// Words:
//
//   - descriptor: the description of one version of a component: its resources, sources and references to other
//     components. It is written in one of two schemas, v2 and v3alpha1, and has one form in memory.
//   - coordinates: the location of a version of a component: repository context, name and version.
//   - element: a resource, source or reference of a descriptor. Its identity is its name, its extra identity, and its
//     version if the rest is not unique.
//   - overwrites: rules that redirect references. They apply to the component of an installation and to every
//     reference below it, each time to the original reference.
//   - closure: a descriptor with everything that it refers to, directly and indirectly. A Closure is one that is still
//     being collected; a Set is complete, and needs no further reads.
//   - inline: a descriptor that an installation contains, and those nested in the labels of its references. They
//     take precedence over every repository, regardless of the repository context of a reference.
//
// References of a component are looked up in the repository in which the component of the installation was found.
package component
