// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"errors"

	"espalier.dev/internal/component"
	"espalier.dev/internal/component/resolve"
)

// DefaultFlag is the name of the flag with the default repository context, in all programs that have one. Errors name it.
const DefaultFlag = "default-repository-context"

// Check returns why a repository context is invalid, or nil. It does not check that the repository exists.
func Check(c component.RepositoryContext) error {
	_, err := New(Options{}).place(c)
	if errors.Is(err, resolve.ErrNotFound) {
		return nil
	}
	return err
}
