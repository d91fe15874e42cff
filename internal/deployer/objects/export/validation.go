// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"

	"espalier.dev/api/deployer"
	"espalier.dev/internal/deployer/objects/jsonpath"
	"espalier.dev/internal/deployer/objects/providerconfig"
)

// Validate reports what is wrong with exports.
func Validate(exports []deployer.Export, problems *providerconfig.Problems) {
	if len(exports) > providerconfig.MaxEntries {
		problems.Add("exports.exports", "has %d entries, at most %d are allowed", len(exports), providerconfig.MaxEntries)
		return
	}
	keys := map[string]bool{}
	for i, export := range exports {
		path := fmt.Sprintf("exports.exports[%d]", i)
		if export.Key == "" {
			problems.Add(path+".key", "is missing")
		} else if keys[export.Key] {
			problems.Add(path+".key", "%q is used twice", export.Key)
		}
		keys[export.Key] = true
		validatePath(path+".jsonPath", export.JSONPath, problems)
		validateSource(path, export, problems)
	}
}

func validateSource(path string, export deployer.Export, problems *providerconfig.Problems) {
	if from := export.FromResource; from == nil || from.APIVersion == "" || from.Kind == "" || from.Name == "" {
		problems.Add(path+".fromResource", "must name an object by apiVersion, kind, name and, if it has one, namespace")
	}
	if ref := export.FromObjectReference; ref != nil {
		if ref.APIVersion == "" || ref.Kind == "" {
			problems.Add(path+".fromObjectRef", "needs apiVersion and kind")
		}
		validatePath(path+".fromObjectRef.jsonPath", ref.JSONPath, problems)
	}
}

func validatePath(path, text string, problems *providerconfig.Problems) {
	if _, err := jsonpath.Parse(text); err != nil {
		problems.Add(path, "%v", err)
	}
}
