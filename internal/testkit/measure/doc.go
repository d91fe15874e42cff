// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package measure is what benchmarks of the controllers have in common: it counts what an API server is asked for, and runs the
// controllers as a process of its own, the way users do, whose time and memory can be told from those of the benchmark.
package measure
