// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/component/resolve"
	"espalier.dev/internal/failure"
)

// Operation is the operation of the catalog in a status.
const Operation = "ReadBlueprint"

// The reasons of errors, in addition to those of package blueprint.
const (
	// ReasonContextNotFound means that an object that the installation or its Context names does not exist.
	ReasonContextNotFound = "ContextNotFound"
	// ReasonContextInvalid means that such an object is invalid.
	ReasonContextInvalid = "ContextInvalid"
	// ReasonComponentInvalid means that the component, or one that it refers to, can never be used.
	ReasonComponentInvalid = "ComponentInvalid"
	// ReasonComponentNotFound means that a repository does not have a component.
	ReasonComponentNotFound = "ComponentNotFound"
	// ReasonBlueprintInvalid means that the installation does not name a blueprint.
	ReasonBlueprintInvalid = "BlueprintInvalid"
	// ReasonBlueprintNotFound means that a repository does not have the blueprint.
	ReasonBlueprintNotFound = "BlueprintNotFound"
	// ReasonResourceInvalid means that a reference does not lead to a resource.
	ReasonResourceInvalid = "ResourceInvalid"
	// ReasonResourceNotFound means that a repository does not have the content of a resource.
	ReasonResourceNotFound = "ResourceNotFound"
	// ReasonNotVerified means that the signature that an installation requires cannot be checked.
	ReasonNotVerified = "VerificationUnavailable"
	// ReasonRepositoryUnavailable means that a repository could not be read.
	ReasonRepositoryUnavailable = "RepositoryUnavailable"
)

// Invalid is an error about user input: no retry fixes it.
func Invalid(reason string, err error) error {
	return failure.NewTerminal(failure.Details{
		Operation: Operation,
		Reason:    reason,
		Codes:     []string{string(lsv1alpha1.ErrorConfigurationProblem)},
	}, err)
}

// Absent is an error about something that does not exist yet.
func Absent(reason string, err error) error {
	return failure.NewRetryable(failure.Details{Operation: Operation, Reason: reason}, err)
}

// unread classifies an error of a repository, unless the repository has classified it. The reason is for missing content.
func unread(reason string, err error) error {
	switch {
	case err == nil || failure.KindOf(err) != failure.Retryable || failure.DetailsOf(err).Operation != "":
		return err
	case errors.Is(err, resolve.ErrNotFound):
		return Absent(reason, err)
	default:
		return Absent(ReasonRepositoryUnavailable, err)
	}
}

// at adds the field that an error is about.
func at(field string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", field, err)
}

// AboutContext returns an error about a Context.
func AboutContext(c *lsv1alpha1.Context, err error) error {
	return &ObjectError{Object: c, cause: fmt.Errorf("%s %s: %w", kindContext, c.Name, err)}
}

// ObjectError is about an object that came with the request, and not about the installation itself. Its text names the
// object and the field.
type ObjectError struct {
	Object metav1.Object
	cause  error
}

func (e *ObjectError) Error() string { return e.cause.Error() }
func (e *ObjectError) Unwrap() error { return e.cause }
