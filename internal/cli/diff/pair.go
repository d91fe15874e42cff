// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/objects/forecast"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/preview"
)

// What becomes of objects.
const (
	created = "created"
	updated = "changed"
	deleted = "deleted"
)

// pair is an object as it is and as it would be, without what changes with every write.
type pair struct{ before, after map[string]any }

func pairOf(change forecast.Change) pair {
	return pair{before: settled(change.Before), after: settled(change.After)}
}

// what is what becomes of the object; nothing if it stays as it is.
func (p pair) what() string {
	switch {
	case p.before == nil:
		return created
	case p.after == nil:
		return deleted
	case !reflect.DeepEqual(p.before, p.after):
		return updated
	}
	return ""
}

// restless are fields of the metadata that the API server writes.
var restless = []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink", "deletionTimestamp",
	"deletionGracePeriodSeconds"}

// lastApplied is what kubectl remembers of an object: the object once more, with its secrets.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// settled is an object without its status, and without what the API server writes by itself.
func settled(object *unstructured.Unstructured) map[string]any {
	if object == nil {
		return nil
	}
	fields := object.DeepCopy().Object
	delete(fields, "status")
	for _, name := range restless {
		unstructured.RemoveNestedField(fields, "metadata", name)
	}
	unstructured.RemoveNestedField(fields, "metadata", "annotations", lastApplied)
	for _, name := range []string{"annotations", "labels"} {
		if entries, found, _ := unstructured.NestedMap(fields, "metadata", name); found && len(entries) == 0 {
			unstructured.RemoveNestedField(fields, "metadata", name)
		}
	}
	return fields
}

// shown are the lines of both sides without secrets. Of what is deleted only the name is shown: nobody can tell any more which of its
// values were secret.
func (p pair) shown(secrets *masking.Values) (before, after []string) {
	switch p.what() {
	case created:
		return nil, linesOf(concealed(p.after, secrets))
	case deleted:
		return linesOf(identity(p.before)), nil
	}
	now, next := concealed(p.before, secrets), concealed(p.after, secrets)
	now = alike(preview.HideBeside(now, next, p.after), now, next)
	now, next = told(now, next, rawPair{p.before, p.after})
	return linesOf(now), linesOf(next)
}

// alike puts back what was hidden beside a secret, where it reads the same as what stands there with the secret masked.
func alike(hidden, shown, next any) any {
	switch h := hidden.(type) {
	case map[string]any:
		s, _ := shown.(map[string]any)
		n, _ := next.(map[string]any)
		for key := range h {
			h[key] = alike(h[key], s[key], n[key])
		}
	case []any:
		s, _ := shown.([]any)
		n, _ := next.([]any)
		for i := range min(len(h), len(s), len(n)) {
			h[i] = alike(h[i], s[i], n[i])
		}
	case string:
		if text, ok := next.(string); ok && text == shown {
			return text
		}
	}
	return hidden
}

func identity(object map[string]any) map[string]any {
	u := unstructured.Unstructured{Object: object}
	metadata := map[string]any{"name": u.GetName()}
	if u.GetNamespace() != "" {
		metadata["namespace"] = u.GetNamespace()
	}
	return map[string]any{"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(), "metadata": metadata}
}

// concealed is an object without secrets. Of Secrets no value is shown, wherever it comes from, and of Targets no configuration.
func concealed(object map[string]any, secrets *masking.Values) any {
	shown, _ := secrets.Value(object)
	fields, ok := shown.(map[string]any)
	if !ok {
		return shown
	}
	u := unstructured.Unstructured{Object: object}
	switch {
	case u.GetKind() == "Secret" && u.GetAPIVersion() == "v1":
		for _, key := range []string{"data", "stringData"} {
			if content, exists := fields[key]; exists {
				fields[key] = masking.All(content)
			}
		}
	case u.GetKind() == "Target" && u.GroupVersionKind().Group == lsv1alpha1.GroupName:
		if spec, ok := fields["spec"].(map[string]any); ok && spec["config"] != nil {
			spec["config"] = masking.All(spec["config"])
		}
	}
	return shown
}

// rawPair is a value on both sides with nothing hidden.
type rawPair struct{ before, after any }

// told marks values that look the same since they are masked, and are not.
func told(before, after any, raw rawPair) (any, any) {
	switch b := before.(type) {
	case map[string]any:
		if a, both := after.(map[string]any); both {
			tellFields(b, a, raw)
		}
	case []any:
		if a, both := after.([]any); both {
			tellElements(b, a, raw)
		}
	case string:
		if a, both := after.(string); both && a == b && strings.Contains(b, masking.Mask) && !reflect.DeepEqual(raw.before, raw.after) {
			return b + " (before)", a + " (after)"
		}
	}
	return before, after
}

func tellFields(before, after map[string]any, raw rawPair) {
	rawBefore, _ := raw.before.(map[string]any)
	rawAfter, _ := raw.after.(map[string]any)
	for key := range before {
		if _, exists := after[key]; exists {
			before[key], after[key] = told(before[key], after[key], rawPair{rawBefore[key], rawAfter[key]})
		}
	}
}

func tellElements(before, after []any, raw rawPair) {
	rawBefore, _ := raw.before.([]any)
	rawAfter, _ := raw.after.([]any)
	for i := range min(len(before), len(after), len(rawBefore), len(rawAfter)) {
		before[i], after[i] = told(before[i], after[i], rawPair{rawBefore[i], rawAfter[i]})
	}
}

func linesOf(content any) []string {
	text, err := yaml.Marshal(content)
	if err != nil {
		return []string{fmt.Sprintf("# This cannot be written as YAML: %v", err)}
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}
