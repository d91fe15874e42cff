// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"fmt"

	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/template"
)

// ExportValues are the values that export executions see in addition to the imports.
type ExportValues struct {
	// DeployItems are the exports of the deploy items by name.
	DeployItems map[string]any
	dataflow.ContextValues
}

// exportValues runs the export executions and merges their results.
func (e *execution) exportValues(imports map[string]any, values ExportValues) (map[string]any, error) {
	seen := map[string]any{"deployitems": values.DeployItems, "dataobjects": values.DataObjects, "targets": values.Targets}
	bindings := map[string]any{"imports": imports, "values": seen}
	for name, value := range seen {
		bindings[name] = value
	}
	exports := map[string]any{}
	for _, x := range e.Blueprint.exports {
		output, err := e.run(x, dataflow.StateExport, bindings)
		if err != nil {
			return nil, err
		}
		given, isObject := output["exports"].(map[string]any)
		if !isObject && output["exports"] != nil {
			return nil, failed(
				dataflow.ReasonExportInvalid,
				fmt.Errorf("%s: exports must be an object, not %s", x, template.TypeName(output["exports"])),
			)
		}
		merge(exports, given)
	}
	return exports, nil
}

// merge merges one object into another, entry by entry; objects on both sides are merged recursively.
func merge(into, from map[string]any) {
	for key, value := range from {
		inner, isObject := value.(map[string]any)
		if existing, both := into[key].(map[string]any); isObject && both {
			merge(existing, inner)
			continue
		}
		into[key] = value
	}
}
