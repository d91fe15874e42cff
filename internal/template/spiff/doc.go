// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package spiff evaluates the templates and data mappings of blueprints that are written in the language of spiff: plain data in which
// strings of the form (( expression )) stand for the result of the expression.
//
// It is a separate implementation. The original, github.com/mandelsoft/spiff, cannot be made safe from outside: its parser takes time that
// grows exponentially with the brackets of an expression, a lambda that calls itself crashes the whole process with a stack overflow, its
// functions reach the environment and the network, and its errors quote the values they failed on. None of that can be intercepted. The
// original serves the tests instead: every example that both engines support is evaluated by both, and the results are compared.
//
// # How a template is evaluated
//
// Compile turns the data into a tree of nodes (source) and parses the expressions. Evaluate creates a cell for every node, which is
// evaluated when its value is needed, and only once. Names are looked up from the map that contains an expression to the outermost one, and
// then among the bindings. A value that depends on itself is an error.
//
// Every evaluation of an expression is a step on the meter of the run, every value that is built is counted with its size, and calls of
// lambdas and templates count how deep they nest. Values share their parts; only what walks through a value (the output, or a function such
// as asjson) pays for the whole of it.
//
// # What differs from the original
//
// docs/templates.md has the list. The most important: a string that an expression yields is data, even if it looks like an expression, so
// that imports are not evaluated; what reaches outside or depends on time is rejected; and random values are only generated for the state.
// Examples in the tests that differ say so, and the original must disagree with them.
package spiff
