// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package node

// TrialPart knows no parts: Check reports that a node needs Linux.
func TrialPart([]string) (code int, known bool) { return 0, false }
