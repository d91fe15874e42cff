// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"errors"
	"fmt"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"

	"espalier.dev/internal/schema"
)

// ErrSchema means that values do not match the schema of a chart.
var ErrSchema = errors.New("the values do not match the schema of the chart")

// schemas compiles the schemas of charts. Helm loads references from the web and from this process's disk, and
// quotes values; here, schemas must be self-contained, and errors name fields.
var schemas = schema.NewCompiler(schemaLimits(), 8<<20)

func schemaLimits() schema.Limits {
	limits := schema.DefaultLimits()
	limits.DocumentBytes, limits.Bytes, limits.Nodes = 4<<20, 4<<20, 50_000
	limits.Steps = 2_000_000
	return limits
}

// checkSchemas validates the values with the schema of the chart and with those of the charts in it.
func checkSchemas(c *chart.Chart, top common.Values) error {
	values, err := plain(top["Values"])
	if err != nil {
		return err
	}
	return checkSchema(c, values)
}

func checkSchema(c *chart.Chart, values map[string]any) error {
	if len(c.Schema) > 0 {
		if err := schemas.Validate("values of the chart "+c.Name(), c.Schema, schema.Sources{}, values); err != nil {
			return fmt.Errorf("%w: %w", ErrSchema, err)
		}
	}
	for _, inner := range c.Dependencies() {
		value, found := values[inner.Name()]
		if !found || value == nil {
			continue
		}
		part, ok := value.(map[string]any)
		if !ok {
			return fmt.Errorf("%w: the value %s must be an object: it contains the values of the chart %s", ErrSchema, inner.Name(), inner.Name())
		}
		if err := checkSchema(inner, part); err != nil {
			return err
		}
	}
	return nil
}

// plain returns values as JSON decodes them.
func plain(value any) (map[string]any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("%w: they cannot be converted to JSON", ErrSchema)
	}
	var result map[string]any
	if err := json.Unmarshal(text, &result); err != nil {
		return nil, fmt.Errorf("%w: they are not an object", ErrSchema)
	}
	return result, nil
}
