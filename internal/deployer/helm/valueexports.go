// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"strings"

	"espalier.dev/api/deployer"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/objects/jsonpath"
	"espalier.dev/internal/failure"
)

// readValues reads exports from the data that the templates see: Chart, Capabilities, Release and Values. A missing value
// cannot appear later, so it is an error before anything is deployed.
func readValues(exports []deployer.Export, seen map[string]any) (map[string]any, error) {
	if len(exports) == 0 {
		return nil, nil
	}
	plain, err := throughJSON(seen)
	if err != nil {
		return nil, unexported("the values of the chart cannot be converted to JSON")
	}
	content, _ := plain.(map[string]any)
	result := map[string]any{}
	for _, export := range exports {
		path, err := jsonpath.Parse(export.JSONPath)
		if err != nil {
			return nil, unexported("export %s: jsonPath %v", export.Key, err)
		}
		value, found := path.Find(content)
		if !found {
			return nil, unexported("export %s: no value at %s in Chart, Capabilities, Release and Values: set fromResource, or another path", export.Key, export.JSONPath)
		}
		result[export.Key] = value
	}
	return result, nil
}

// seeRevision rereads those exports once the release exists: only then is the revision known.
func (p *pass) seeRevision() (err error) {
	memory := p.session.Memory
	told, found := memory.seen["Release"].(map[string]any)
	if !found || memory.current == nil {
		return nil
	}
	told["Revision"], told["IsInstall"], told["IsUpgrade"] = memory.current.Version, !memory.upgraded, memory.upgraded
	p.exports, err = readValues(p.config.valueExports, memory.seen)
	return err
}

func unexported(format string, args ...any) error {
	details := failure.Details{Operation: "Export", Reason: "InvalidExport", Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)}}
	return failure.Terminalf(details, format, args...)
}

// nested expands dotted keys to objects: a.b=1 and a.c=2 become a={b: 1, c: 2}. Of two conflicting keys, the later one
// applies.
func nested(keys []string, values map[string]any) map[string]any {
	result := map[string]any{}
	for _, key := range keys {
		value, found := values[key]
		if !found {
			continue
		}
		steps := strings.Split(key, ".")
		for i := len(steps) - 1; i > 0; i-- {
			value = map[string]any{steps[i]: value}
		}
		merge(result, steps[0], value)
	}
	return result
}

func merge(into map[string]any, key string, value any) {
	before, both := into[key].(map[string]any)
	after, isMap := value.(map[string]any)
	if !both || !isMap {
		into[key] = value
		return
	}
	for name, inner := range after {
		merge(before, name, inner)
	}
}
