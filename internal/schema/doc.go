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
// each with a #FRAGMENT that points into it. Nothing else is ever loaded, neither from a network nor from a disk. A reference inside a
// referenced schema is relative to that schema: a cd:// reference in a resource of another component means that component. Circular
// references are an error; a recursive schema uses its own #FRAGMENT.
//
// Schemas come from strangers, and so does the data. So everything is bounded by Limits: size, depth and number of schemas, and the steps
// that a validation may take, because a short schema can demand exponential work. Regular expressions are those of Go, which take linear
// time.
//
// Errors name what was checked, the place in the value and what was expected there. They never contain the value.
//
// # Drafts
//
// A schema without $schema uses the draft that the blueprint names, or 2019-09. Two things go beyond that draft, because users of the API
// rely on them: formats are checked, and the boolean exclusiveMinimum and exclusiveMaximum of draft 4 are supported.
package schema
