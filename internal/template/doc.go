// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package template contains what the two template engines of blueprints share: the limits of every rendering, the meter that counts against
// them, and the error that shows a user where a template failed without showing any of the values it worked on.
//
// The engines are in the packages gotemplate and spiff. Both are hermetic: they see the values and the files passed to them, and nothing
// else; no environment, no network, no clock, no randomness. Both are bounded: a template that never ends, or that grows without end, fails
// after a number of steps or bytes that does not depend on the machine. And both are deterministic: the same template with the same input
// gives the same output, or the same error.
//
// # Vocabulary
//
//   - Bindings are the values that a template sees by name. They are plain JSON values: nil, bool, int64, float64, string, []any and
//     map[string]any.
//   - A step is a unit of work, about as much as one call of a simple function. A function that works on long values takes more of them.
//   - Memory is the sum of the sizes of everything that the functions of a template have built, whether it is still in use or not.
//
// # Secrets
//
// Bindings contain passwords and kubeconfigs. An error is written into a status and into logs. So no error of these packages contains a
// value from the bindings, nor anything computed from one. It contains text of the template, names of types, and texts that were written
// for the purpose: Problem is their type. The message of any other error is dropped, because libraries like to quote what they could not
// parse.
package template
