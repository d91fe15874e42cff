// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"fmt"
	"maps"
	"os"
	"slices"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// GivenExports are the exports of installations, by path.
type GivenExports map[string]GivenExport

// GivenExport contains the exports of one installation, in one of two forms.
type GivenExport struct {
	// DeployItems are the exports of the deploy items, by name. The blueprint's export executions turn them into the exports.
	DeployItems map[string]any `json:"deployItems,omitempty"`
	// Exports are the exports of the blueprint, by name. Its export executions do not run.
	Exports map[string]any `json:"exports,omitempty"`
}

// ReadExports reads given exports from a YAML file.
func ReadExports(file string) (GivenExports, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read exports: %w", err)
	}
	return parseExports(file, text)
}

func parseExports(file string, text []byte) (GivenExports, error) {
	content, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", file, yamlProblem(err, 0))
	}
	exports := GivenExports{}
	strict, err := kjson.UnmarshalStrict(content, &exports)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", file, typeProblem(err))
	}
	for _, unknown := range strict {
		return nil, fmt.Errorf("%s: %w: each path needs deployItems or exports", file, unknown)
	}
	for _, path := range slices.Sorted(maps.Keys(exports)) {
		if given := exports[path]; (given.DeployItems == nil) == (given.Exports == nil) {
			return nil, fmt.Errorf("%s: %s: set exactly one of deployItems and exports", file, path)
		}
	}
	return exports, nil
}
