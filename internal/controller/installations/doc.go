// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package installations is the controller of installations: it reads what package installation decides on, and carries out what that
// package has decided.
//
// Reads come from the cache, except where the cache may mislead: see the comments at the uses of kind.live.
package installations
