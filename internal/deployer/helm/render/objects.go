// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"espalier.dev/internal/deployer/objects/documents"
)

// Annotations with a meaning for Helm.
const (
	hookAnnotation   = "helm.sh/hook"
	policyAnnotation = "helm.sh/resource-policy"
)

// Object is an object that a chart renders to.
type Object struct {
	Manifest *unstructured.Unstructured
	// Source is the name of the template.
	Source string
	// Kept reports whether the chart requires the object to stay when the release is removed.
	Kept bool
}

// Objects returns everything that must exist while the chart is deployed: the CRDs, the objects, and the hooks of an
// installation or upgrade. Hooks for other events, such as a test or a deletion, are omitted.
func (r *Result) Objects() ([]Object, error) {
	var result []Object
	for _, text := range slices.Concat(r.Definitions, r.Templates) {
		objects, err := documents.Split(text.Content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text.Name, err)
		}
		for _, object := range objects {
			if !forOtherOccasions(object) {
				result = append(result, Object{Manifest: object, Source: text.Name, Kept: IsKept(object)})
			}
		}
	}
	return result, nil
}

// IsKept reports whether a chart requires an object to stay when the release is removed.
func IsKept(object *unstructured.Unstructured) bool {
	return strings.EqualFold(strings.TrimSpace(object.GetAnnotations()[policyAnnotation]), "keep")
}

// forOtherOccasions reports whether an object is a hook unrelated to an installation or upgrade.
func forOtherOccasions(object *unstructured.Unstructured) bool {
	events, isHook := object.GetAnnotations()[hookAnnotation]
	if !isHook {
		return false
	}
	for event := range strings.SplitSeq(events, ",") {
		switch strings.TrimSpace(event) {
		case "pre-delete", "post-delete", "pre-rollback", "post-rollback", "test", "test-success", "test-failure":
		default:
			return false
		}
	}
	return true
}
