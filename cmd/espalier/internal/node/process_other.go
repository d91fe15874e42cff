// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package node

import "syscall"

// apart is never reached: Check says that a node needs Linux.
func apart() *syscall.SysProcAttr { return nil }
