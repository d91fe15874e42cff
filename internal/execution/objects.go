// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// executionKind is the kind that owner references name.
const executionKind = "Execution"

// newItem returns the object of a deploy item that does not exist yet.
func newItem(e *lsv1alpha1.Execution, t *lsv1alpha1.DeployItemTemplate) *lsv1alpha1.DeployItem {
	item := &lsv1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: ItemName(e.Name, t.Name)}}
	item.Spec.Type = t.Type
	shape(item, e, t)
	return item
}

// changedItem returns an existing object with everything that the execution requires, or nil if it requires no change. Labels, annotations
// and finalizers of other clients stay.
func changedItem(existing *lsv1alpha1.DeployItem, e *lsv1alpha1.Execution, t *lsv1alpha1.DeployItemTemplate) *lsv1alpha1.DeployItem {
	changed := existing.DeepCopy()
	shape(changed, e, t)
	if sameMetadata(existing, changed) && sameSpec(existing.Spec, changed.Spec) {
		return nil
	}
	return changed
}

// shape sets everything in an object that the execution requires, except for the type.
func shape(item *lsv1alpha1.DeployItem, e *lsv1alpha1.Execution, t *lsv1alpha1.DeployItemTemplate) {
	item.Labels = with(item.Labels, t.Labels, map[string]string{
		lsv1alpha1.ExecutionManagedByLabel:   e.Name,
		lsv1alpha1.ExecutionManagedNameLabel: t.Name,
	})
	item.Annotations = with(item.Annotations, annotations(e, t))
	if len(t.DependsOn) == 0 {
		delete(item.Annotations, lsv1alpha1.ExecutionDependsOnAnnotation)
	}
	if !slices.Contains(item.Finalizers, lsv1alpha1.Finalizer) {
		item.Finalizers = append(item.Finalizers, lsv1alpha1.Finalizer)
	}
	item.OwnerReferences = owned(item.OwnerReferences, e)
	item.Spec = lsv1alpha1.DeployItemSpec{
		Type: item.Spec.Type, Target: t.Target, Context: e.Spec.Context, Flow: e.Spec.Flow, Configuration: t.Configuration,
		Timeout: t.Timeout, UpdateOnChangeOnly: t.UpdateOnChangeOnly, OnDelete: t.OnDelete,
	}
}

func annotations(e *lsv1alpha1.Execution, t *lsv1alpha1.DeployItemTemplate) map[string]string {
	result := map[string]string{
		lsv1alpha1.DeployerTypeAnnotation:       string(t.Type),
		lsv1alpha1.DeployerTargetNameAnnotation: lsv1alpha1.NoTargetName,
	}
	if t.Target != nil {
		result[lsv1alpha1.DeployerTargetNameAnnotation] = t.Target.Name
	}
	if len(t.DependsOn) > 0 {
		result[lsv1alpha1.ExecutionDependsOnAnnotation] = strings.Join(t.DependsOn, ",")
	}
	if cache, set := e.Annotations[lsv1alpha1.CacheHelmChartsAnnotation]; set {
		result[lsv1alpha1.CacheHelmChartsAnnotation] = cache
	}
	return result
}

// dependsOn returns the dependencies from the annotation of an object.
func dependsOn(item *lsv1alpha1.DeployItem) []string {
	return strings.FieldsFunc(item.Annotations[lsv1alpha1.ExecutionDependsOnAnnotation], func(r rune) bool { return r == ',' || r == ' ' })
}

// owned makes the execution the controller of an object, and replaces an earlier execution of the same name.
func owned(references []metav1.OwnerReference, e *lsv1alpha1.Execution) []metav1.OwnerReference {
	controller := metav1.NewControllerRef(e, lsv1alpha1.SchemeGroupVersion.WithKind(executionKind))
	others := slices.DeleteFunc(slices.Clone(references), func(r metav1.OwnerReference) bool {
		return r.Kind == executionKind || r.UID == e.UID || r.Controller != nil && *r.Controller
	})
	return append(others, *controller)
}

func with(base map[string]string, over ...map[string]string) map[string]string {
	result := maps.Clone(base)
	if result == nil {
		result = map[string]string{}
	}
	for _, values := range over {
		maps.Copy(result, values)
	}
	return result
}

func sameMetadata(a, b *lsv1alpha1.DeployItem) bool {
	return equality.Semantic.DeepEqual(a.Labels, b.Labels) && equality.Semantic.DeepEqual(a.Annotations, b.Annotations) &&
		equality.Semantic.DeepEqual(a.Finalizers, b.Finalizers) && equality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences)
}

// sameSpec compares configurations by content: the API server formats them differently.
func sameSpec(a, b lsv1alpha1.DeployItemSpec) bool {
	if !sameJSON(a.Configuration, b.Configuration) {
		return false
	}
	a.Configuration, b.Configuration = nil, nil
	return equality.Semantic.DeepEqual(a, b)
}

func sameJSON(a, b *runtime.RawExtension) bool {
	if a == nil || b == nil {
		return a == b
	}
	if string(a.Raw) == string(b.Raw) {
		return true
	}
	var left, right any
	if json.Unmarshal(a.Raw, &left) != nil || json.Unmarshal(b.Raw, &right) != nil {
		return false
	}
	return reflect.DeepEqual(plain(left), plain(right))
}

// plain replaces whole floating-point numbers by integers, as the API server does when it writes them.
func plain(value any) any {
	switch v := value.(type) {
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v)
		}
	case map[string]any:
		for key := range v {
			v[key] = plain(v[key])
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	}
	return value
}
