// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package manifest turns objects into manifests, as people write them and as kubectl apply takes them, and creates objects: all of them,
// or none.
package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/target"
)

// Manifest is an object as people write it.
type Manifest map[string]any

// kept is what a manifest has of the metadata of its object.
var kept = []string{"name", "namespace", "labels", "annotations"}

// lastApplied is what kubectl remembers: the object once more.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Of returns the manifest of an object: without status, and without everything in the metadata that the API server and controllers have
// put there.
func Of(object client.Object, scheme *runtime.Scheme) (Manifest, error) {
	kind, err := apiutil.GVKForObject(object, scheme)
	if err != nil {
		return nil, fmt.Errorf("find the kind of %s: %w", object.GetName(), err)
	}
	text, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("write %s %s: %w", kind.Kind, object.GetName(), err)
	}
	manifest := Manifest{}
	if err := json.Unmarshal(text, &manifest); err != nil {
		return nil, fmt.Errorf("write %s %s: %w", kind.Kind, object.GetName(), err)
	}
	delete(manifest, "status")
	manifest["apiVersion"], manifest["kind"] = kind.ToAPIVersionAndKind()
	metadata, _ := manifest["metadata"].(map[string]any)
	manifest["metadata"] = reduced(metadata)
	return manifest, nil
}

// reduced returns what people write of metadata. Labels and annotations of ours connect objects with each other, and tell what somebody has
// asked for and how it was answered: elsewhere, none of that is true. Those by which people choose how an object is treated stay.
func reduced(metadata map[string]any) map[string]any {
	result := map[string]any{}
	for _, key := range kept {
		if value, found := metadata[key]; found {
			result[key] = value
		}
	}
	for _, key := range []string{"labels", "annotations"} {
		values, _ := result[key].(map[string]any)
		maps.DeleteFunc(values, func(name string, _ any) bool {
			return name == lastApplied || isOurs(name) && !slices.Contains(chosen, name)
		})
		if len(values) == 0 {
			delete(result, key)
		}
	}
	return result
}

// chosen are the annotations of ours by which people choose how an object is treated.
var chosen = []string{lsv1alpha1.ReconcileIfChangedAnnotation, lsv1alpha1.CacheHelmChartsAnnotation}

func isOurs(name string) bool {
	domain, _, _ := strings.Cut(name, "/")
	for _, own := range []string{lsv1alpha1.GroupName, "espalier.dev"} {
		if domain == own || strings.HasSuffix(domain, "."+own) {
			return true
		}
	}
	return false
}

// Masked returns the manifest without secrets: those of Secrets, and of Targets that have their credentials themselves.
func (m Manifest) Masked() Manifest {
	result := maps.Clone(m)
	switch m["kind"] {
	case "Secret":
		masked := map[string]any{}
		for _, field := range []string{"data", "stringData"} {
			values, _ := m[field].(map[string]any)
			for key := range values {
				masked[key] = masking.Mask
			}
			delete(result, field)
		}
		if len(masked) > 0 {
			result["stringData"] = masked // What data has must be base64, which the mask is not.
		}
	case "Target":
		spec, _ := m["spec"].(map[string]any)
		if config, found := spec["config"]; found && !harmless(config) {
			result["spec"] = map[string]any{"type": spec["type"], "config": map[string]any{"kubeconfig": masking.Mask}}
		}
	}
	return result
}

// harmless reports whether the configuration of a Target names a service account, and contains no credential.
func harmless(config any) bool {
	text, err := json.Marshal(config)
	if err != nil {
		return false
	}
	return HarmlessConfig(text)
}

// HarmlessConfig reports whether the configuration of a Target contains no credential, since it names a service account whose tokens the
// controllers ask for.
func HarmlessConfig(config []byte) bool {
	account, _ := target.ServiceAccount(config)
	return account != ""
}

// title names an object in messages.
func title(object client.Object, scheme *runtime.Scheme) string {
	kind, err := apiutil.GVKForObject(object, scheme)
	if err != nil {
		return object.GetName()
	}
	return strings.ToLower(kind.Kind) + " " + object.GetName()
}
