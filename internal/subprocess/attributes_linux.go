// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package subprocess

import "syscall"

// attributes makes the kernel kill the process when the thread that started it ends.
func attributes(command Command) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: command.User.credential(), Setpgid: command.Apart, Pdeathsig: syscall.SIGKILL}
}
