// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package subprocess

import "syscall"

// attributes cannot handle a killed parent on systems without such a signal: a program that does not watch its standard input outlives the
// parent there.
func attributes(command Command) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: command.User.credential(), Setpgid: command.Apart}
}
