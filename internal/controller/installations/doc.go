// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package installations is the controller of installations: it reads the facts for package installation, and executes its decisions.
//
// Reads come from the cache, except where the cache may be wrong: see the comments at the uses of kind.live.
package installations
