// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"os"
	"syscall"
)

// lock waits until it holds the lock of a folder.
func lock(folder *os.File) error {
	for {
		if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// apart makes a process the first one of new namespaces. The kernel kills it when the thread that started it ends, and Ctrl-C in the
// terminal does not reach it.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
		Setsid:     true,
	}
}
