// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer

import "espalier.dev/internal/failure"

// Terminal returns an error that ends the item's job as Failed: no retry can succeed until the spec changes or a user fixes the
// cause. The reason is a CamelCase word for the status, such as InvalidConfiguration. Any other error is retried with backoff until
// the item's deadline.
func Terminal(reason string, err error) error {
	return failure.NewTerminal(failure.Details{Reason: reason}, err)
}
