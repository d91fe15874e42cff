// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package schema checks the values of imports and exports against the JSON schemas of a blueprint.
//
// A schema may refer to others:
//
//	local://NAME         a local type of the blueprint
//	blueprint://PATH     a file of the blueprint
//	cd://PATH            a resource of the blueprint's component, or of one that it refers to
//
// each with a #FRAGMENT that points into it. Nothing else is ever loaded, neither from a network nor from a disk. A
// reference inside a referred schema starts from where that schema lies: a cd:// reference in a resource of another
// component means that component. References that lead back to where they came from are an error; a schema that
// contains itself is written with a #FRAGMENT of its own.
//
// Schemas come from strangers, and so does the data. Everything is therefore bounded by Limits: size, depth and number
// of schemas, and the steps that a validation may take, because a short schema can demand exponential work. Regular
// expressions are those of Go, which take linear time.
//
// Errors name what was checked, the place in the value and what was expected there. They never contain the value.
//
// # Drafts
//
// A schema without $schema is read by the draft that the blueprint names, or 2019-09. Two things are wider than that
// draft, because users of the API rely on them: formats are checked, and the boolean exclusiveMinimum and
// exclusiveMaximum of draft 4 are understood.
package schema
