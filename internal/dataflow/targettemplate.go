// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/util/validation"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// parseTargetTemplate reads a target that an export execution returns: an object with type, config or secretRef, labels and annotations.
// The problem describes what is wrong with it, without its values.
func parseTargetTemplate(value any) (target *lsv1alpha1.Target, problem string) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, "it is not an object"
	}
	result := &lsv1alpha1.Target{}
	text, ok := object["type"].(string)
	if !ok || text == "" {
		return nil, "type must be a text"
	}
	result.Spec.Type = lsv1alpha1.TargetType(text)
	for _, read := range []func(*lsv1alpha1.Target, map[string]any) string{readConfig, readSecretRef, readLabels, readAnnotations} {
		if problem := read(result, object); problem != "" {
			return nil, problem
		}
	}
	if result.Spec.Configuration != nil && result.Spec.SecretRef != nil {
		return nil, "config and secretRef exclude each other"
	}
	return result, ""
}

func readConfig(target *lsv1alpha1.Target, object map[string]any) string {
	config, ok := object["config"]
	if !ok || config == nil {
		if _, misnamed := object["configuration"]; misnamed {
			return "configuration has no effect: the field is called config"
		}
		return ""
	}
	encoded, err := lsv1alpha1.NewAnyJSON(config)
	if err != nil {
		return "config has no JSON form"
	}
	target.Spec.Configuration = &encoded
	return ""
}

func readSecretRef(target *lsv1alpha1.Target, object map[string]any) string {
	value, ok := object["secretRef"]
	if !ok || value == nil {
		return ""
	}
	reference, ok := value.(map[string]any)
	if !ok {
		return "secretRef must be an object with name and key"
	}
	name, ok := reference["name"].(string)
	if !ok || name == "" {
		return "secretRef.name must be the name of a Secret"
	}
	key, ok := reference["key"].(string)
	if _, present := reference["key"]; present && !ok {
		return "secretRef.key must be a text"
	}
	target.Spec.SecretRef = &lsv1alpha1.LocalSecretReference{Name: name, Key: key}
	return ""
}

func readLabels(target *lsv1alpha1.Target, object map[string]any) (problem string) {
	target.Labels, problem = readTexts(object, "labels")
	for _, key := range sorted(maps.Keys(target.Labels)) {
		if len(validation.IsValidLabelValue(target.Labels[key])) > 0 {
			return fmt.Sprintf("labels: the value of %q is not a valid label", key)
		}
	}
	return problem
}

func readAnnotations(target *lsv1alpha1.Target, object map[string]any) (problem string) {
	target.Annotations, problem = readTexts(object, "annotations")
	return problem
}

// readTexts reads an object with string values whose keys are names of labels or annotations.
func readTexts(object map[string]any, field string) (map[string]string, string) {
	value, ok := object[field]
	if !ok || value == nil {
		return nil, ""
	}
	entries, ok := value.(map[string]any)
	if !ok {
		return nil, field + " must be an object"
	}
	result := make(map[string]string, len(entries))
	for _, key := range sorted(maps.Keys(entries)) {
		if len(validation.IsQualifiedName(key)) > 0 {
			return nil, fmt.Sprintf("%s: %q is not a valid key", field, key)
		}
		text, ok := entries[key].(string)
		if !ok {
			return nil, fmt.Sprintf("%s: the value of %q must be a text; quote it", field, key)
		}
		result[key] = text
	}
	return result, ""
}
