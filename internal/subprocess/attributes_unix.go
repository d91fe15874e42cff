// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package subprocess

import (
	"os"
	"syscall"
)

func (u *User) credential() *syscall.Credential {
	if u == nil {
		return nil
	}
	return &syscall.Credential{Uid: u.UID, Gid: u.GID}
}

func askToEnd(process *os.Process) error { return process.Signal(syscall.SIGTERM) }
