// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package spiff evaluates the templates and data mappings of blueprints that are written in the language of spiff: plain data in which
// strings of the form (( expression )) stand for the result of the expression.
//
// It is a separate implementation. The original, github.com/mandelsoft/spiff, cannot be made safe from outside: the time of its parser
// grows exponentially with the brackets of an expression, a lambda that calls itself crashes the whole process with a stack overflow, its
// functions reach the environment and the network, and its errors quote values. None of that can be intercepted. The
// original serves the tests instead: every example that both engines support is evaluated by both, and the results are compared.
//
// # How a template is evaluated
//
// Compile turns the data into a tree of nodes (source) and parses the expressions. Evaluate creates a cell for every node, which is
// evaluated when its value is needed, and only once. Names are looked up from the map that contains an expression to the outermost one, and
// then among the bindings. A value that depends on itself is an error.
//
// Every evaluation of an expression is a step on the meter of the run, every value that is built is counted with its size, and calls of
// lambdas and templates count how deep they nest. Values share their parts; only a traversal of a value (the output, or a function such
// as asjson) is charged for the whole value.
//
// # Differences from the original
//
// docs/templates.md lists them. The most important: a string that an expression yields is data, even if it looks like an expression, so
// that imports are not evaluated; functions that reach outside or depend on time are rejected; and random values are only generated for the
// state. Examples in the tests are marked if they differ, and the original must then give another result.
package spiff
