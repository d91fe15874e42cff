// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"

	"espalier.dev/internal/failure"
)

// Reasons of the errors of this package. All of them are terminal.
const (
	// ReasonInvalidSchema says that the blueprint's schema cannot be used.
	ReasonInvalidSchema = "InvalidSchema"
	// ReasonSchemaValidationFailed says that a value does not match its schema.
	ReasonSchemaValidationFailed = "SchemaValidationFailed"
	// ReasonSchemaTooExpensive says that checking a value would take too many steps.
	ReasonSchemaTooExpensive = "SchemaTooExpensive"
)

const (
	operation         = "ValidateSchema"
	codeConfiguration = "ERR_CONFIGURATION_PROBLEM"
)

// invalidError is a fault of a schema. Errors that are not one come from outside and keep their kind.
type invalidError struct{ message string }

func (e *invalidError) Error() string { return e.message }

func invalid(format string, args ...any) error {
	return &invalidError{message: fmt.Sprintf(format, args...)}
}

// schemaError adds whose schema it is, and makes faults of the schema terminal.
func schemaError(what string, err error) error {
	var fault *invalidError
	if errors.As(err, &fault) {
		return terminal(ReasonInvalidSchema, "the schema of %s is invalid: %w", what, err)
	}
	return fmt.Errorf("the schema of %s: %w", what, err)
}

func terminal(reason, format string, args ...any) error {
	return failure.Terminalf(failure.Details{Operation: operation, Reason: reason, Codes: []string{codeConfiguration}}, format, args...)
}
