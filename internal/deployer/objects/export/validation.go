// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"

	"espalier.dev/api/deployer"
	"espalier.dev/internal/deployer/objects/jsonpath"
	"espalier.dev/internal/deployer/objects/providerconfig"
)

// Validate reports problems in exports.
func Validate(exports []deployer.Export, problems *providerconfig.Problems) {
	ValidateAt("exports.exports", exports, problems)
}

// ValidateAt reports problems in the exports at a path.
func ValidateAt(path string, exports []deployer.Export, problems *providerconfig.Problems) {
	if len(exports) > providerconfig.MaxEntries {
		problems.Add(path, "has %d entries, at most %d are allowed", len(exports), providerconfig.MaxEntries)
		return
	}
	keys := map[string]bool{}
	for i, export := range exports {
		at := fmt.Sprintf("%s[%d]", path, i)
		if export.Key != "" && keys[export.Key] {
			problems.Add(at+".key", "%q is used twice", export.Key)
		}
		keys[export.Key] = true
		ValidateOne(at, export, problems)
	}
}

// ValidateOne reports problems in one export.
func ValidateOne(path string, export deployer.Export, problems *providerconfig.Problems) {
	if export.Key == "" {
		problems.Add(path+".key", "is missing")
	}
	validatePath(path+".jsonPath", export.JSONPath, problems)
	validateSource(path, export, problems)
}

func validateSource(path string, export deployer.Export, problems *providerconfig.Problems) {
	if from := export.FromResource; from == nil || from.APIVersion == "" || from.Kind == "" || from.Name == "" {
		problems.Add(path+".fromResource", "must identify an object by apiVersion, kind, name and, if it has one, namespace")
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
