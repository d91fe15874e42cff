// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const longestValue = 100 // characters of one value in a line of a history

// masked returns a copy without secrets: the contents of Secrets and of Targets are replaced by their sizes, and managedFields are dropped.
func masked(object *unstructured.Unstructured) *unstructured.Unstructured {
	shown := object.DeepCopy()
	shown.SetManagedFields(nil)
	annotations := shown.GetAnnotations()
	const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
	if _, ok := annotations[lastApplied]; ok {
		annotations[lastApplied] = "(masked)"
		shown.SetAnnotations(annotations)
	}
	switch shown.GetKind() {
	case "Secret":
		maskField(shown.Object, "data")
		maskField(shown.Object, "stringData")
	case "Target":
		if spec, ok := shown.Object["spec"].(map[string]any); ok {
			maskField(spec, "config")
		}
	}
	return shown
}

func maskField(parent map[string]any, field string) {
	value, found := parent[field]
	if !found {
		return
	}
	fields, ok := value.(map[string]any)
	if !ok {
		parent[field] = maskedValue(value)
		return
	}
	for key, secret := range fields {
		fields[key] = maskedValue(secret)
	}
}

func maskedValue(value any) string { return fmt.Sprintf("(masked, %d characters)", len(render(value))) }

// toYAML prints a masked object.
func toYAML(object *unstructured.Unstructured) string {
	if object == nil {
		return "(it does not exist)\n"
	}
	content, err := yaml.Marshal(masked(object).Object)
	if err != nil {
		return fmt.Sprintf("(not printable: %v)\n", err)
	}
	return string(content)
}

// changes lists the leaves in which two revisions of an object differ, as "path: old -> new", in the order of their paths.
func changes(before, after *unstructured.Unstructured) []string {
	old, now := leavesOf(before), leavesOf(after)
	all := maps.Clone(old)
	maps.Copy(all, now)
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(all)) {
		previous, had := old[path]
		current, has := now[path]
		switch {
		case !had:
			lines = append(lines, fmt.Sprintf("%s: + %s", path, short(current)))
		case !has:
			lines = append(lines, fmt.Sprintf("%s: - %s", path, short(previous)))
		case previous != current:
			lines = append(lines, fmt.Sprintf("%s: %s -> %s", path, short(previous), short(current)))
		}
	}
	return lines
}

// leavesOf omits what changes with every write or has no meaning.
func leavesOf(object *unstructured.Unstructured) map[string]string {
	leaves := map[string]string{}
	if object == nil {
		return leaves
	}
	flatten(masked(object).Object, "", leaves)
	for _, noise := range []string{"apiVersion", "kind", "metadata.resourceVersion", "metadata.name", "metadata.namespace"} {
		delete(leaves, noise)
	}
	return leaves
}

func short(value string) string {
	value = strings.ReplaceAll(value, "\n", "\\n")
	if runes := []rune(value); len(runes) > longestValue {
		return string(runes[:longestValue]) + "..."
	}
	return value
}
