// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer

import "espalier.dev/internal/failure"

// Terminal makes an error one that ends the job of the item as Failed: nothing but another spec or somebody's help can make the call
// succeed. The reason is a CamelCase word for the status, such as InvalidConfiguration. Every other error is repeated, in growing
// intervals, until the item's time is up.
func Terminal(reason string, err error) error {
	return failure.NewTerminal(failure.Details{Reason: reason}, err)
}
