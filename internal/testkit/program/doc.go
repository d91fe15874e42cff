// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package program builds the programs that tests start: our API server, and what others have written and we work together
// with. Each is built once, from a module of this checkout that pins its version, and kept in the checkout's .cache folder
// under a hash of everything that it was made from.
//
// The package needs nothing but the standard library, for a command that builds ahead of the tests must not first compile
// a Kubernetes client.
package program
