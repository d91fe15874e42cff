// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package componentspec compares signatures of components with those of the library that has made them first. It is a module of its own
// so that nothing else depends on that library.
package componentspec
