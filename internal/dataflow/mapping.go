// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"fmt"
	"maps"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
)

// Mapper evaluates one spiff template, which is JSON, to plain JSON. The bindings are the values that the template sees in addition to
// itself; a Mapper must not change them. Its errors must not contain values.
type Mapper func(template lsv1alpha1.AnyJSON, bindings map[string]any) (any, error)

// ExportsBinding is the name under which export mappings see all exports, including those whose names are not identifiers.
const ExportsBinding = "exports"

// mapEach evaluates each mapping separately, over the same bindings: a mapping sees the data but not the results of other mappings, so
// that it may have the same name as its input.
func mapEach(operation string, mappings map[string]lsv1alpha1.AnyJSON, bindings map[string]any, evaluate Mapper) (map[string]any, error) {
	result := make(map[string]any, len(mappings))
	for _, name := range sorted(maps.Keys(mappings)) {
		value, err := mapOne(mappings[name], bindings, evaluate)
		if err != nil {
			return nil, mappingError(operation, name, err)
		}
		result[name] = value
	}
	return result, nil
}

func mapOne(mapping lsv1alpha1.AnyJSON, bindings map[string]any, evaluate Mapper) (any, error) {
	value, err := evaluate(mapping, bindings)
	if err != nil {
		return nil, err
	}
	return normal(value)
}

// mappingError makes every error of a mapping terminal, because the same template fails again with the same data.
func mappingError(operation, name string, err error) error {
	details := failure.Details{
		Operation: operation,
		Reason:    ReasonMappingFailed,
		Codes:     []string{string(lsv1alpha1.ErrorConfigurationProblem)},
	}
	return failure.NewTerminal(details, fmt.Errorf("data mapping %q: %w", name, err))
}
