// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package node

import (
	"errors"
	"os"
	"syscall"
)

// lock is never reached, as little as apart.
func lock(*os.File) error { return errors.ErrUnsupported }

// apart is never reached: Check says that a node needs Linux.
func apart() *syscall.SysProcAttr { return nil }
