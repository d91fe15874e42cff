// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package inside

import (
	"os"
	"syscall"
)

// openFlags open files that the image has written: never through a link, and without waiting for the other end of a pipe.
const openFlags = os.O_RDONLY | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
