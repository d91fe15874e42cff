// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package gotemplate renders the templates of blueprints that are written in the language of text/template.
//
// A template is compiled once and rendered as often as needed, also concurrently. It has the functions of sprig with results that depend
// only on their arguments, and some more: include, readFile, readDir, toYaml, fromYaml, and functions of the caller. A function that
// is rejected can still be called; the call fails and names the reason. Functions that list the content of a map do so in the order of
// the keys.
//
// # How a rendering is bounded
//
// text/template cannot be interrupted. So Compile inserts calls into the parse tree: one at the start of every body that counts its steps,
// one at both ends of every template that counts how deep they nest, and one after every value that is written, which measures the value
// before text/template formats it. Every function is wrapped: its arguments and its result are counted before and after the call. Functions
// whose result can be much larger than their arguments, such as repeat, are reimplemented, so that they count before they build.
//
// text/template writes a missing value as "<no value>", which would be deployed. It is an error here, unless the caller permits it.
package gotemplate
