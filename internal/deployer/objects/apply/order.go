// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/failure"
)

// The groups in which objects are applied, one after the other.
const (
	definitions = iota
	namespaces
	clusterScoped
	namespaced
	groupCount
)

// placed is an object with information about its kind.
type placed struct {
	Object
	group int
	// definedBy is the CRD of its kind, if the same set of objects contains it.
	definedBy *Object
}

// Place gives every object the namespace that its kind requires: none for cluster-scoped kinds, and the default for objects
// that name none. Objects of kinds that the cluster does not serve yet do not change.
func Place(objects []Object, mapper meta.RESTMapper, defaultNamespace string) ([]Object, error) {
	result := make([]Object, 0, len(objects))
	found, err := place(objects, mapper, defaultNamespace)
	for _, p := range found {
		result = append(result, p.Object)
	}
	return result, err
}

func place(objects []Object, mapper meta.RESTMapper, defaultNamespace string) ([]placed, error) {
	kinds := kindsOf(objects)
	result := make([]placed, 0, len(objects))
	var problems []error
	for _, o := range objects {
		p := placed{Object: o, definedBy: kinds[o.Manifest.GroupVersionKind().GroupKind()]}
		if err := p.classify(mapper, defaultNamespace); err != nil {
			problems = append(problems, err)
		}
		result = append(result, p)
	}
	return result, cluster.Join(problems)
}

func (p *placed) classify(mapper meta.RESTMapper, defaultNamespace string) error {
	kind := p.Manifest.GroupVersionKind().GroupKind()
	switch {
	case isDefinition(kind):
		p.group = definitions
		p.setNamespace("")
		return nil
	case kind == schema.GroupKind{Kind: "Namespace"}:
		p.group = namespaces
		p.setNamespace("")
		return nil
	}
	scoped, known, err := p.isNamespaced(mapper)
	if err != nil {
		return cluster.Refused("look up the kind of", cluster.SubjectOf(nil, p.Manifest), err)
	}
	if known && !scoped {
		p.group = clusterScoped
		p.setNamespace("")
		return nil
	}
	p.group = namespaced
	if p.Manifest.GetNamespace() == "" && known {
		return p.useDefault(defaultNamespace)
	}
	return nil
}

func (p *placed) useDefault(namespace string) error {
	if namespace == "" {
		return failure.Terminalf(
			failure.Details{
				Operation: "ReadConfiguration",
				Reason:    "InvalidConfiguration",
				Codes:     []string{string(lsv1alpha1.ErrorConfigurationProblem)},
			},
			"%s.metadata.namespace: %s needs a namespace: add one", p.Path, p.Manifest.GetKind(),
		)
	}
	p.setNamespace(namespace)
	return nil
}

// setNamespace does not modify the caller's manifest.
func (p *placed) setNamespace(namespace string) {
	if p.Manifest.GetNamespace() == namespace {
		return
	}
	p.Manifest = p.Manifest.DeepCopy()
	p.Manifest.SetNamespace(namespace)
}

func (p *placed) isNamespaced(mapper meta.RESTMapper) (scoped, known bool, err error) {
	if p.definedBy != nil {
		scope, _, _ := unstructured.NestedString(p.definedBy.Manifest.Object, "spec", "scope")
		return scope != "Cluster", true, nil
	}
	gvk := p.Manifest.GroupVersionKind()
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return false, false, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("list the kinds of the cluster: %w", err)
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, true, nil
}

func isDefinition(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// kindsOf returns the kinds that the objects themselves define.
func kindsOf(objects []Object) map[schema.GroupKind]*Object {
	result := map[schema.GroupKind]*Object{}
	for i := range objects {
		if !isDefinition(objects[i].Manifest.GroupVersionKind().GroupKind()) {
			continue
		}
		group, _, _ := unstructured.NestedString(objects[i].Manifest.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(objects[i].Manifest.Object, "spec", "names", "kind")
		result[schema.GroupKind{Group: group, Kind: kind}] = &objects[i]
	}
	return result
}
