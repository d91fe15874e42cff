// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package node

import (
	"errors"
	"os"
	"syscall"
)

// lock is never reached: Check reports that a node needs Linux.
func lock(*os.File) error { return errors.ErrUnsupported }

// apart is never reached: Check reports that a node needs Linux.
func apart() *syscall.SysProcAttr { return nil }
