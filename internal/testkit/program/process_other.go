// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package program

import "syscall"

// dieWithParent can do nothing on systems that know no such signal: a program that does not watch its standard input
// outlives a killed test there.
func dieWithParent(*syscall.SysProcAttr) {}
