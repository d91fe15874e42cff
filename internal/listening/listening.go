// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package listening explains why a program cannot listen, on all operating systems.
package listening

import (
	"errors"
	"syscall"
)

// inUseOnWindows is WSAEADDRINUSE. On Windows, syscall.EADDRINUSE is a number that the system never returns; on others, this one is.
const inUseOnWindows = syscall.Errno(10048)

// InUse reports whether the address is in use, according to an error of net.Listen.
func InUse(err error) bool {
	return errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, inUseOnWindows)
}
