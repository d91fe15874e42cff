// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package inside

import "os"

// openFlags open files that the image has written. Pods run on Linux; on other systems, the package is only compiled.
const openFlags = os.O_RDONLY
