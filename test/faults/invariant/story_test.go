// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

const namespace = "garden"

// story is a history written by hand: each method adds a revision.
type story struct {
	history testkit.History
	living  map[string]*unstructured.Unstructured
}

func tell() *story { return &story{living: map[string]*unstructured.Unstructured{}} }

// edit changes an object within a revision.
type edit func(*unstructured.Unstructured)

// write creates the object that is named "Kind name", or changes it.
func (s *story) write(object string, edits ...edit) *story {
	change, next := testkit.Modified, &unstructured.Unstructured{}
	if before := s.living[object]; before != nil {
		next = before.DeepCopy()
	} else {
		kind, name, _ := strings.Cut(object, " ")
		change = testkit.Added
		next.Object = map[string]any{"kind": kind}
		next.SetNamespace(namespace)
		next.SetName(name)
		next.SetGeneration(1)
		next.SetUID(types.UID(fmt.Sprintf("uid-%d", len(s.history)+1)))
	}
	for _, apply := range edits {
		apply(next)
	}
	s.living[object] = next
	return s.add(change, next)
}

func (s *story) delete(object string) *story {
	last := s.living[object].DeepCopy()
	delete(s.living, object)
	return s.add(testkit.Deleted, last)
}

func (s *story) add(change testkit.Change, object *unstructured.Unstructured) *story {
	object.SetResourceVersion(fmt.Sprint(len(s.history) + 1))
	s.history = append(s.history, testkit.Revision{Change: change, Object: object})
	return s
}

func set(value any, path ...string) edit {
	return func(u *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(u.Object, value, path...); err != nil {
			panic(err)
		}
	}
}

func job(id string) edit { return set(id, "status", "jobID") }

func phase(name string) edit { return set(name, "status", "phase") }

func end(id, name string) edit {
	return func(u *unstructured.Unstructured) {
		job(id)(u)
		phase(name)(u)
		set(id, "status", "jobIDFinished")(u)
		runs, _, _ := unstructured.NestedSlice(u.Object, "status", "lastRuns")
		set(append([]any{map[string]any{"id": id}}, runs...), "status", "lastRuns")(u)
	}
}

func annotate(name, value string) edit {
	return func(u *unstructured.Unstructured) {
		annotations := map[string]string{}
		for key, old := range u.GetAnnotations() {
			annotations[key] = old
		}
		annotations[name] = value
		if value == "" {
			delete(annotations, name)
		}
		u.SetAnnotations(annotations)
	}
}

func ask(operation string) edit { return annotate(lsv1alpha1.OperationAnnotation, operation) }

func label(name, value string) edit {
	return func(u *unstructured.Unstructured) {
		labels := map[string]string{name: value}
		for key, old := range u.GetLabels() {
			labels[key] = old
		}
		u.SetLabels(labels)
	}
}

func below(parent string) edit { return label(lsv1alpha1.EncompassedByLabel, parent) }

func ownedBy(installation string) edit {
	return func(u *unstructured.Unstructured) {
		u.SetOwnerReferences([]metav1.OwnerReference{{Kind: kindInstallation, Name: installation}})
	}
}

// item makes the object a deploy item of an execution, with its dependencies.
func item(execution, name string, dependsOn ...string) edit {
	return func(u *unstructured.Unstructured) {
		label(lsv1alpha1.ExecutionManagedByLabel, execution)(u)
		label(lsv1alpha1.ExecutionManagedNameLabel, name)(u)
		annotate(lsv1alpha1.ExecutionDependsOnAnnotation, strings.Join(dependsOn, ","))(u)
	}
}

// plan gives an execution a chain of deploy items, each of which depends on the previous one.
func plan(names ...string) edit {
	var items []any
	for i, name := range names {
		entry := map[string]any{"name": name, "type": "t"}
		if i > 0 {
			entry["dependsOn"] = []any{names[i-1]}
		}
		items = append(items, entry)
	}
	return set(items, "spec", "deployItems")
}

func dying() edit {
	return func(u *unstructured.Unstructured) { set("2024-01-02T03:04:05Z", "metadata", "deletionTimestamp")(u) }
}

func protect(finalizers ...string) edit {
	return func(u *unstructured.Unstructured) { u.SetFinalizers(finalizers) }
}

// lists gives a deploy item an inventory of ConfigMaps.
func lists(names ...string) edit {
	resources := []any{}
	for _, name := range names {
		resources = append(resources, map[string]any{"resource": map[string]any{"kind": "ConfigMap", "namespace": namespace, "name": name}})
	}
	return set(resources, "status", "providerStatus", "managedResources")
}

// wants gives a deploy item manifests of ConfigMaps.
func wants(names ...string) edit {
	return func(u *unstructured.Unstructured) {
		var manifests []any
		for _, name := range names {
			manifests = append(manifests, map[string]any{"manifest": map[string]any{
				"kind": "ConfigMap", "metadata": map[string]any{"namespace": namespace, "name": name},
			}})
		}
		set(string(lsv1alpha1.DeployItemTypeManifest), "spec", "type")(u)
		set(manifests, "spec", "config", "manifests")(u)
	}
}

// continuous selects the flow, with the generation of the spec and the observed one.
func continuous(generation, observed int64) edit {
	return func(u *unstructured.Unstructured) {
		set(string(lsv1alpha1.FlowContinuous), "spec", "flow")(u)
		u.SetGeneration(generation)
		set(observed, "status", "observedGeneration")(u)
	}
}

// done completes a generation of the spec in the continuous flow.
func done(generation int64, name string) edit {
	return func(u *unstructured.Unstructured) {
		continuous(generation, generation)(u)
		phase(name)(u)
	}
}

// shares gives an installation data to export or to import.
func shares(direction, dataRef string) edit {
	return set([]any{map[string]any{"name": "x", "dataRef": dataRef}}, "spec", direction, "data")
}

// sketched gives an installation a blueprint with a nested installation, which is empty, and one deploy item with a value.
func sketched(nested, value string) edit {
	text := fmt.Sprintf(`
subinstallations:
- {name: %s, blueprint: {filesystem: {blueprint.yaml: "{}"}}}
deployExecutions:
- template: |
    deployItems:
    - {name: a, config: {value: %q, name: "{{ .imports.name }}"}}
`, nested, value)
	return set(map[string]any{lsv1alpha1.BlueprintFileName: text}, "spec", "blueprint", "inline", "filesystem")
}

// called gives a nested installation its name, and an empty blueprint.
func called(name string) edit {
	return func(u *unstructured.Unstructured) {
		annotate(lsv1alpha1.SubinstallationNameAnnotation, name)(u)
		set(map[string]any{lsv1alpha1.BlueprintFileName: "{}"}, "spec", "blueprint", "inline", "filesystem")(u)
	}
}

// configured gives an execution one deploy item, or a deploy item its configuration.
func configured(value string) edit {
	return func(u *unstructured.Unstructured) {
		config := map[string]any{"value": value, "name": "rose"}
		if u.GetKind() == kindDeployItem {
			set(config, "spec", "config")(u)
			return
		}
		set([]any{map[string]any{"name": "a", "type": "t", "config": config}}, "spec", "deployItems")(u)
	}
}

func deployed() edit { return label(DeployedLabel, "yes") }

// example is a story that keeps a rule, or breaks it with the expected message.
type example struct {
	story *story
	want  string // empty if the rule is kept
}

func check(t *testing.T, rule string, examples map[string]example) {
	t.Helper()
	checkBy(t, Rules(), rule, examples)
}

func checkBy(t *testing.T, rules []Rule, rule string, examples map[string]example) {
	t.Helper()
	for _, r := range rules {
		if r.ID != rule {
			continue
		}
		for name, e := range examples {
			t.Run(name, func(t *testing.T) { expect(t, r.Check(e.story.history), e.want) })
		}
		return
	}
	t.Fatalf("there is no rule %s", rule)
}

func expect(t *testing.T, found []Violation, want string) {
	t.Helper()
	text := Describe(found)
	if want == "" && text != "" || !strings.Contains(text, want) {
		t.Errorf("found %q, want %q", text, want)
	}
	if want != "" && len(found) != 1 {
		t.Errorf("found %d violations, want one:\n%s", len(found), text)
	}
}
