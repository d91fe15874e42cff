// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// addressing fields identify the object, not its content.
var addressing = []string{
	"apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion", "metadata.generateName",
}

// fieldsOf summarises the body of a write: a patch by two levels of field names, a delete by its preconditions, everything else, which
// contains the whole object, by one level.
func fieldsOf(verb, contentType string, body []byte) []string {
	if strings.HasPrefix(contentType, "application/json-patch") {
		return fieldsOfJSONPatch(body)
	}
	var content map[string]any
	if err := yaml.Unmarshal(body, &content); err != nil { // JSON is YAML; server-side apply sends either.
		return nil
	}
	switch verb {
	case "delete", "deletecollection":
		preconditions, _ := content["preconditions"].(map[string]any)
		return twoLevels(map[string]any{"preconditions": preconditions})
	case "patch":
		return twoLevels(content)
	default:
		fields := slices.DeleteFunc(slices.Sorted(maps.Keys(content)), isAddressing)
		return slices.DeleteFunc(fields, func(field string) bool { return field == "metadata" })
	}
}

func twoLevels(content map[string]any) []string {
	var fields []string
	for name, value := range content {
		nested, ok := value.(map[string]any)
		if !ok {
			fields = append(fields, name)
			continue
		}
		for inner := range nested {
			fields = append(fields, name+"."+inner)
		}
	}
	slices.Sort(fields)
	return slices.DeleteFunc(fields, isAddressing)
}

func fieldsOfJSONPatch(body []byte) []string {
	var operations []struct {
		Path string `json:"path"`
	}
	if err := yaml.Unmarshal(body, &operations); err != nil {
		return nil
	}
	var fields []string
	for _, operation := range operations {
		parts := strings.Split(strings.TrimPrefix(operation.Path, "/"), "/")
		fields = append(fields, strings.Join(parts[:min(len(parts), 2)], "."))
	}
	slices.Sort(fields)
	return slices.DeleteFunc(slices.Compact(fields), isAddressing)
}

func isAddressing(field string) bool { return slices.Contains(addressing, field) }

func nameIn(body []byte) string {
	var object struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal(body, &object); err != nil {
		return ""
	}
	return object.Metadata.Name
}
