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
	// ReasonInvalidSchema means that the blueprint's schema cannot be used.
	ReasonInvalidSchema = "InvalidSchema"
	// ReasonSchemaValidationFailed means that a value does not match its schema.
	ReasonSchemaValidationFailed = "SchemaValidationFailed"
	// ReasonSchemaTooExpensive means that checking a value would take too many steps.
	ReasonSchemaTooExpensive = "SchemaTooExpensive"
)

const (
	operation         = "ValidateSchema"
	codeConfiguration = "ERR_CONFIGURATION_PROBLEM"
)

// invalidError is a fault of a schema. Other errors come from outside and keep their kind.
type invalidError struct{ message string }

func (e *invalidError) Error() string { return e.message }

func invalid(format string, args ...any) error {
	return &invalidError{message: fmt.Sprintf(format, args...)}
}

// schemaError adds the owner of the schema, and makes faults of the schema terminal.
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
