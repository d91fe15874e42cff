// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"fmt"
	"maps"
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Scope is the scope that an installation belongs to.
type Scope struct {
	Namespace string
	// Parent is the name of the installation that opens the scope; empty for the root scope.
	Parent string
	// JobID is, in a nested scope, the job that every object of the scope must belong to. Empty accepts every object, as in the continuous
	// flow.
	JobID string
	// Exported is, in the root scope and where JobID is empty, the mark that each object exported by a sibling must have: the last job of
	// that sibling, or the version of its last update in the continuous flow. Objects that are not listed are accepted in any version.
	Exported map[ObjectID]string
}

// ObjectID names a DataObject or Target of the namespace.
type ObjectID struct {
	Kind ObjectKind
	Name string
}

// ObjectKind is the kind of an object that contains an import or export.
type ObjectKind string

// These are the kinds of objects that contain imports and exports.
const (
	KindDataObject ObjectKind = "DataObject"
	KindTarget     ObjectKind = "Target"
	KindSecret     ObjectKind = "Secret"
	KindConfigMap  ObjectKind = "ConfigMap"
)

// IsRoot reports whether it is the root scope of the namespace.
func (s Scope) IsRoot() bool { return s.Parent == "" }

// Context returns the name of the scope in labels.
func (s Scope) Context() string {
	if s.IsRoot() {
		return ""
	}
	return ContextOf(s.Parent)
}

// ObjectName returns the name of the object that a reference denotes in the scope.
func (s Scope) ObjectName(reference string) string { return ObjectName(s.Context(), reference) }

// expectedJob returns the job that an object must belong to; empty accepts every job.
func (s Scope) expectedJob(kind ObjectKind, reference string) string {
	if s.JobID == "" || s.IsRoot() || IsGlobal(reference) {
		return s.Exported[ObjectID{Kind: kind, Name: s.ObjectName(reference)}]
	}
	return s.JobID
}

// ElementLabels returns labels that select the targets of a list or map that the parent imports.
func (s Scope) ElementLabels(reference string) map[string]string {
	labels := map[string]string{
		lsv1alpha1.DataObjectContextLabel:    s.Context(),
		lsv1alpha1.DataObjectSourceTypeLabel: lsv1alpha1.DataObjectSourceImport,
		lsv1alpha1.DataObjectKeyLabel:        reference,
	}
	if s.JobID != "" {
		labels[lsv1alpha1.DataObjectJobIDLabel] = s.JobID
	}
	return labels
}

// describe names an object so that a user can find it.
func (s Scope) describe(kind ObjectKind, reference string) string {
	name := s.ObjectName(reference)
	if s.IsRoot() || IsGlobal(reference) {
		if name == reference || IsGlobal(reference) {
			return fmt.Sprintf("%s %s/%s", kind, s.Namespace, name)
		}
		return fmt.Sprintf("%s %s/%s (for %q)", kind, s.Namespace, name, reference)
	}
	return fmt.Sprintf("%s %s/%s (for %q in the scope of installation %q)", kind, s.Namespace, name, reference, s.Parent)
}

// Needs are the objects to read before imports can be resolved: names of objects in the namespace.
type Needs struct {
	DataObjects, Targets, Secrets, ConfigMaps []string
	// Elements are references to lists and maps of targets that the parent imports. ElementLabels select their targets.
	Elements []string
}

// NeedsOf returns the objects that the imports of an installation denote. Secrets that Targets refer to are needed in addition; SecretsOf
// names them.
func NeedsOf(scope Scope, imports lsv1alpha1.InstallationImports) Needs {
	needs := map[ObjectKind]map[string]bool{KindDataObject: {}, KindTarget: {}, KindSecret: {}, KindConfigMap: {}}
	elements := map[string]bool{}
	for _, data := range imports.Data {
		switch {
		case data.DataRef != "":
			needs[KindDataObject][scope.ObjectName(data.DataRef)] = true
		case data.SecretRef != nil:
			needs[KindSecret][data.SecretRef.Name] = true
		case data.ConfigMapRef != nil:
			needs[KindConfigMap][data.ConfigMapRef.Name] = true
		}
	}
	for _, target := range imports.Targets {
		for _, reference := range targetReferences(target) {
			needs[KindTarget][scope.ObjectName(reference)] = true
		}
		if reference := elementsReference(target); reference != "" {
			elements[reference] = true
		}
	}
	return Needs{
		DataObjects: sorted(maps.Keys(needs[KindDataObject])),
		Targets:     sorted(maps.Keys(needs[KindTarget])),
		Secrets:     sorted(maps.Keys(needs[KindSecret])),
		ConfigMaps:  sorted(maps.Keys(needs[KindConfigMap])),
		Elements:    sorted(maps.Keys(elements)),
	}
}

// targetReferences returns the references of an import to single Targets, in a stable order.
func targetReferences(target lsv1alpha1.TargetImport) []string {
	switch {
	case target.Target != "":
		return []string{target.Target}
	case target.Targets != nil:
		return target.Targets
	}
	var references []string
	for _, key := range sorted(maps.Keys(target.TargetMap)) {
		references = append(references, target.TargetMap[key])
	}
	return references
}

// elementsReference returns the list or map of the parent that an import takes over as a whole.
func elementsReference(target lsv1alpha1.TargetImport) string {
	if target.TargetListReference != "" {
		return target.TargetListReference
	}
	return target.TargetMapReference
}

// SecretsOf returns the names of the Secrets that Targets refer to. Their content is part of the imports' hash.
func SecretsOf(targets []*lsv1alpha1.Target) []string {
	var names []string
	for _, target := range targets {
		if target.Spec.SecretRef != nil {
			names = append(names, target.Spec.SecretRef.Name)
		}
	}
	return sorted(slices.Values(names))
}
