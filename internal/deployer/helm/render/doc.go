// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package render renders a chart with values to texts and objects, without a release. It serves the mode in which the deployer applies the
// objects itself, and commands that need no cluster.
package render
