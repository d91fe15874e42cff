// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package providerconfig reads the configurations of deploy items: strictly, and with errors that name the fields.
package providerconfig

import (
	"errors"
	"fmt"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
)

// MaxEntries is the maximum length of a list of checks, requirements, exports or groups.
const MaxEntries = 500

// Root is the path of a configuration in its deploy item.
const Root = "spec.config"

// Problems collects the problems of a configuration.
type Problems []string

// Add records a problem. The path starts below the configuration.
func (p *Problems) Add(path, format string, args ...any) {
	if path != "" {
		path = "." + path
	}
	*p = append(*p, Root+path+": "+fmt.Sprintf(format, args...))
}

// maxTold is the maximum number of problems in a message.
const maxTold = 10

// Err returns the error that ends the job; nil if there are no problems.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	if more := len(p) - maxTold; more > 0 {
		p = append(p[:maxTold:maxTold], fmt.Sprintf("and %d more", more))
	}
	return failure.NewTerminal(failure.Details{
		Operation: "ReadConfiguration", Reason: "InvalidConfiguration", Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)},
	}, errors.New(strings.Join(p, "; ")))
}

// OneOf lists the values that a field may have.
func OneOf[T ~string](values []T) string {
	var names []string
	for _, value := range values {
		names = append(names, string(value))
	}
	return "must be one of " + strings.Join(names, ", ")
}
