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

// The reasons of errors, beside those of package oci.
const (
	// ReasonRepositoryContextMissing says that nothing tells where a component is.
	ReasonRepositoryContextMissing = "RepositoryContextMissing"
	// ReasonRepositoryInvalid says that a repository context cannot be understood.
	ReasonRepositoryInvalid = "RepositoryInvalid"
	// ReasonComponentInvalid says that what is stored is no component, or a broken one.
	ReasonComponentInvalid = "ComponentInvalid"
	// ReasonResourceInvalid says that a resource cannot be used for what it is asked for.
	ReasonResourceInvalid = "ResourceInvalid"
)

// invalid is an error that no retry mends.
func invalid(reason, format string, args ...any) error {
	return failure.Terminalf(failure.Details{Reason: reason}, format, args...)
}

// notFound is an error about something that is not there, but may be later. It counts as resolve.ErrNotFound, and says what is
// missing in its own words.
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

// fromStore makes what a store does not have an error that counts as resolve.ErrNotFound.
func fromStore(err error) error {
	if oci.ClassOf(err) == oci.NotFound && !errors.Is(err, resolve.ErrNotFound) {
		return &missing{text: err.Error(), cause: err}
	}
	return err
}
