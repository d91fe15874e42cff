// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"errors"
	"fmt"

	"espalier.dev/internal/component/resolve"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/oci"
)

// The reasons of errors, in addition to those of package oci.
const (
	// ReasonRepositoryContextMissing means that no repository of a component is named.
	ReasonRepositoryContextMissing = "RepositoryContextMissing"
	// ReasonRepositoryInvalid means that a repository context is invalid.
	ReasonRepositoryInvalid = "RepositoryInvalid"
	// ReasonComponentInvalid means that the stored content is not a component, or is an invalid one.
	ReasonComponentInvalid = "ComponentInvalid"
	// ReasonResourceInvalid means that a resource is not suitable for its use.
	ReasonResourceInvalid = "ResourceInvalid"
)

// invalid returns an error that no retry can fix.
func invalid(reason, format string, args ...any) error {
	return failure.Terminalf(failure.Details{Reason: reason}, format, args...)
}

// notFound returns an error about something that does not exist yet. It wraps resolve.ErrNotFound, and its message names what is missing.
func notFound(format string, args ...any) error {
	return &missing{text: fmt.Sprintf(format, args...)}
}

type missing struct {
	text  string
	cause error
}

func (m *missing) Error() string        { return m.text }
func (m *missing) Is(target error) bool { return target == resolve.ErrNotFound }
func (m *missing) Unwrap() error        { return m.cause }

// fromStore converts an error of a store about missing content into one that wraps resolve.ErrNotFound.
func fromStore(err error) error {
	if oci.ClassOf(err) == oci.NotFound && !errors.Is(err, resolve.ErrNotFound) {
		return &missing{text: err.Error(), cause: err}
	}
	return err
}
