// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package render makes texts and objects of a chart and values, without a release. It serves the mode in which the deployer
// applies the objects itself, and commands that need no cluster.
package render
