// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package measure is what benchmarks of the controllers have in common: it counts the requests to an API server, and runs the controllers
// in a separate process, as users do, so that its time and memory can be distinguished from those of the benchmark.
package measure
