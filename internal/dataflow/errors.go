// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"errors"
	"fmt"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
)

// These are the operations of the errors of this package.
const (
	OperationResolveImports = "ResolveImports"
	OperationValidateImport = "ValidateImports"
	OperationCreateImports  = "CreateImports"
	OperationCreateExports  = "CreateExports"
	OperationSiblings       = "CheckSiblings"
	OperationSubinstances   = "ValidateSubInstallations"
)

// These are the reasons of the errors of this package.
const (
	// ReasonImportNotFound means that the object of an import does not exist. It may be created later.
	ReasonImportNotFound = "ImportNotFound"
	// ReasonImportOutdated means that the object of an import belongs to an older job.
	ReasonImportOutdated = "ImportOutdated"
	// ReasonImportInvalid means that an import cannot be read or is declared incorrectly.
	ReasonImportInvalid = "ImportInvalid"
	// ReasonImportNotSatisfied means that nothing provides what the blueprint or a nested installation imports.
	ReasonImportNotSatisfied = "ImportNotSatisfied"
	// ReasonMappingFailed means that a data mapping could not be computed.
	ReasonMappingFailed = "DataMappingFailed"
	// ReasonExportInvalid means that an export is missing or does not match what the blueprint declares.
	ReasonExportInvalid = "ExportInvalid"
	// ReasonExportConflict means that two installations export to the same object, or one to a parent's import.
	ReasonExportConflict = "ExportConflict"
	// ReasonInvalidTemplate means that a nested installation of a blueprint is declared incorrectly.
	ReasonInvalidTemplate = "InvalidInstallationTemplate"
)

// faults collects all errors, so that a user sees them at once.
type faults struct {
	operation string
	// terminal faults require a change, passing ones may disappear, outdated objects will be replaced.
	terminal, passing, outdated []string
	// reason is that of the first terminal fault, passingReason that of the first passing one.
	reason, passingReason string
}

func (f *faults) wrong(reason, format string, args ...any) {
	if f.reason == "" {
		f.reason = reason
	}
	f.terminal = append(f.terminal, fmt.Sprintf(format, args...))
}

func (f *faults) passes(reason, format string, args ...any) {
	if f.passingReason == "" {
		f.passingReason = reason
	}
	f.passing = append(f.passing, fmt.Sprintf(format, args...))
}

func (f *faults) absent(format string, args ...any) { f.passes(ReasonImportNotFound, format, args...) }

func (f *faults) stale(format string, args ...any) {
	f.outdated = append(f.outdated, fmt.Sprintf(format, args...))
}

// include takes over a terminal error of another package with its reason, and returns any other error for the caller to handle.
func (f *faults) include(err error) error {
	if failure.KindOf(err) != failure.Terminal {
		return err
	}
	f.wrong(failure.DetailsOf(err).Reason, "%v", err)
	return nil
}

// asError returns the worst fault: a terminal error if there is one, because a retry has the same result, then a passing one, then
// an outdated object.
func (f *faults) asError() error {
	switch {
	case len(f.terminal) > 0:
		return failure.NewTerminal(failure.Details{
			Operation: f.operation, Reason: f.reason, Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)},
		}, errors.New(strings.Join(f.terminal, "; ")))
	case len(f.passing) > 0:
		return failure.NewRetryable(failure.Details{Operation: f.operation, Reason: f.passingReason}, errors.New(strings.Join(f.passing, "; ")))
	case len(f.outdated) > 0:
		return &failure.Wait{Reason: ReasonImportOutdated, For: strings.Join(f.outdated, "; ")}
	}
	return nil
}
