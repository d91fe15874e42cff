// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
)

// world is what a cluster would contain. Later objects of the same name replace earlier ones.
type world struct {
	dataObjects map[objectKey]*lsv1alpha1.DataObject
	targets     map[objectKey]*lsv1alpha1.Target
	secrets     map[objectKey]map[string][]byte
	configMaps  map[objectKey]map[string][]byte
}

func newWorld(m *Manifests) *world {
	w := &world{
		dataObjects: map[objectKey]*lsv1alpha1.DataObject{}, targets: map[objectKey]*lsv1alpha1.Target{},
		secrets: map[objectKey]map[string][]byte{}, configMaps: map[objectKey]map[string][]byte{},
	}
	w.add(dataflow.Objects{DataObjects: m.DataObjects, Targets: m.Targets})
	w.addContents(m.Secrets, m.ConfigMaps)
	return w
}

// named returns the key in maps that hold objects of one kind.
func named(namespace, name string) objectKey { return objectKey{namespace: namespace, name: name} }

// secretContent returns the content that the API server stores for a Secret: stringData overrides data.
func secretContent(secret *corev1.Secret) map[string][]byte {
	content := maps.Clone(secret.Data)
	if content == nil {
		content = map[string][]byte{}
	}
	for key, text := range secret.StringData {
		content[key] = []byte(text)
	}
	return content
}

// add stores context objects.
func (w *world) add(objects dataflow.Objects) {
	for _, object := range objects.DataObjects {
		w.dataObjects[named(object.Namespace, object.Name)] = object
	}
	for _, target := range objects.Targets {
		w.targets[named(target.Namespace, target.Name)] = target
	}
}

// facts looks up the imports of an installation.
func (w *world) facts(scope dataflow.Scope, imports lsv1alpha1.InstallationImports) dataflow.Facts {
	needs := dataflow.NeedsOf(scope, imports)
	facts := dataflow.Facts{
		Secrets:    pick(w.secrets, scope.Namespace, needs.Secrets),
		ConfigMaps: pick(w.configMaps, scope.Namespace, needs.ConfigMaps),
	}
	for _, object := range pick(w.dataObjects, scope.Namespace, needs.DataObjects) {
		facts.DataObjects = append(facts.DataObjects, object)
	}
	targets := pick(w.targets, scope.Namespace, needs.Targets)
	for _, reference := range needs.Elements {
		w.addElements(scope, reference, targets)
	}
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		facts.Targets = append(facts.Targets, targets[name])
	}
	maps.Copy(facts.Secrets, pick(w.secrets, scope.Namespace, dataflow.SecretsOf(facts.Targets)))
	return facts
}

func pick[T any](from map[objectKey]T, namespace string, names []string) map[string]T {
	found := map[string]T{}
	for _, name := range names {
		if object, exists := from[named(namespace, name)]; exists {
			found[name] = object
		}
	}
	return found
}

// addElements adds the targets of a list or map of the parent.
func (w *world) addElements(scope dataflow.Scope, reference string, targets map[string]*lsv1alpha1.Target) {
	wanted := scope.ElementLabels(reference)
	for key, target := range w.targets {
		matches := key.namespace == scope.Namespace
		for label, value := range wanted {
			matches = matches && target.Labels[label] == value
		}
		if matches {
			targets[key.name] = target
		}
	}
}

// context returns the objects of the scope that an installation opens, as export executions see them.
func (w *world) context(of *lsv1alpha1.Installation) (dataflow.ContextValues, error) {
	return dataflow.CollectContext(of.Name, "", inNamespace(w.dataObjects, of.Namespace), inNamespace(w.targets, of.Namespace))
}

func inNamespace[T any](from map[objectKey]T, namespace string) []T {
	keys := slices.SortedFunc(maps.Keys(from), func(a, b objectKey) int { return cmp.Compare(a.name, b.name) })
	var objects []T
	for _, key := range keys {
		if key.namespace == namespace {
			objects = append(objects, from[key])
		}
	}
	return objects
}
