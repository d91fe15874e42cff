// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"errors"

	"espalier.dev/internal/component"
	"espalier.dev/internal/component/resolve"
)

// DefaultFlag is the flag that says where components are for which nothing else does, wherever there is one. Errors name it.
const DefaultFlag = "default-repository-context"

// Check says why a repository context cannot be understood, if it is so. Whether anything is there is not asked.
func Check(c component.RepositoryContext) error {
	_, err := New(Options{}).place(c)
	if errors.Is(err, resolve.ErrNotFound) {
		return nil
	}
	return err
}
