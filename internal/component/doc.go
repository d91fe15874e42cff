// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package component understands component descriptors of the Open Component Model (OCM) and answers what templates and
// blueprints ask about components. Everything here is a function of its input; package resolve below it reads
// descriptors from repositories.
//
// Words:
//
//   - descriptor: the description of one version of a component: its resources, sources and references to other
//     components. It is written in one of two schemas, v2 and v3alpha1, and has one form in memory.
//   - coordinates: where a version of a component is: repository context, name and version.
//   - element: a resource, source or reference of a descriptor. Its identity is its name, its extra identity, and its
//     version if the rest is not unique.
//   - overwrites: rules that send references elsewhere. They apply to the component of an installation and to every
//     reference below it, each time to what was written originally.
//   - closure: a descriptor with everything that it refers to, directly and indirectly. A Closure is one that is still
//     being collected, a Set one that is complete: all that is done with components without reading more of them.
//   - inline: a descriptor that an installation brings along, and those nested in the labels of its references. They
//     take precedence over every repository, whatever repository context a reference names.
//
// References of a component are looked up in the repository in which the component of the installation was found.
package component
