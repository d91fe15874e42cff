// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package template contains the common parts of the two template engines of blueprints: the limits of every rendering, the meter that
// enforces them, and the error that shows a user where a template failed without showing any processed values.
//
// The engines are in the packages gotemplate and spiff. Both are hermetic: they see only the values and the files passed to them, and
// no environment, network, clock or randomness. Both are bounded: a template that never ends, or that grows without end, fails
// after a number of steps or bytes that does not depend on the machine. Both are deterministic: the same template with the same input
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
// Bindings contain passwords and kubeconfigs. Errors appear in statuses and logs. So no error of these packages contains a
// value from the bindings, nor anything computed from one. It contains text of the template, names of types, and texts that were written
// for the purpose: Problem is their type. The message of any other error is dropped, because libraries often quote input that they cannot
// parse.
package template
