// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package subprocess

import (
	"os"
	"syscall"
)

// attributes ignores the user, which is not supported here.
func attributes(command Command) *syscall.SysProcAttr {
	if !command.Apart {
		return nil
	}
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// askToEnd kills the process, because it cannot ask here.
func askToEnd(process *os.Process) error { return process.Kill() }
