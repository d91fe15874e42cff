// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import "net/http"

// For tests outside of the package, to avoid an import cycle.

// Key is the key for SignedHeader.
const Key = canary

// KeyEntry is the entry of a Secret that holds it.
const KeyEntry = keyEntry

// SignedHeader signs a call of the path.
func SignedHeader(path string) http.Header { return sign(path).header() }
