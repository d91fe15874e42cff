// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import "net/http"

// For tests outside of the package, which may import what imports it.

// Key is the key that SignedHeader signs with.
const Key = canary

// KeyEntry is where a Secret holds it.
const KeyEntry = keyEntry

// SignedHeader signs a call of the path.
func SignedHeader(path string) http.Header { return sign(path).header() }
