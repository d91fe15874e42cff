// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package program builds the programs that tests start: our API server, and the third-party programs that we work with. Each is built once,
// from a module of this checkout that pins its version, and kept in the checkout's .cache folder under a hash of all of its inputs.
//
// The package only needs the standard library, because a command that builds ahead of the tests must not first compile a Kubernetes client.
package program
