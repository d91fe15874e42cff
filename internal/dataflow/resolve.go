// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Import is the result of resolving an import of an installation.
type Import struct {
	Name string
	Type lsv1alpha1.ImportType
	// Data is the value of a data import.
	Data any
	// Targets are the targets of all other imports: one, those of a list in order, or those of a map by key.
	Targets []Target
	// Exporters are the installations that exported the objects, if any.
	Exporters []string
}

// Target is a Target with the objects that it refers to.
type Target struct {
	*lsv1alpha1.Target
	// Key is the key within a target map.
	Key string
	// Secret is the content of the Secret that it refers to; nil if it refers to none or the Secret does not exist.
	Secret map[string][]byte
}

// Resolved are the imports of an installation, found and read, by name.
type Resolved map[string]Import

// Resolve finds the imports of an installation. It reports all missing and invalid imports at once.
func Resolve(scope Scope, imports lsv1alpha1.InstallationImports, facts Facts) (Resolved, error) {
	r := &resolver{scope: scope, facts: newIndex(facts), faults: &faults{operation: OperationResolveImports}}
	resolved := Resolved{}
	for _, data := range imports.Data {
		r.name(data.Name, resolved)
		resolved[data.Name] = r.data(data)
	}
	for _, target := range imports.Targets {
		r.name(target.Name, resolved)
		resolved[target.Name] = r.targets(target)
	}
	if err := r.faults.asError(); err != nil {
		return nil, err
	}
	return resolved, nil
}

type resolver struct {
	scope  Scope
	facts  *index
	faults *faults
}

func (r *resolver) name(name string, taken Resolved) {
	if _, twice := taken[name]; twice {
		r.faults.wrong(ReasonImportInvalid, "import %q is declared twice in spec.imports: give each import a unique name", name)
	}
}

func (r *resolver) data(data lsv1alpha1.DataImport) Import {
	result := Import{Name: data.Name, Type: lsv1alpha1.ImportTypeData}
	switch {
	case data.DataRef != "":
		result.Data, result.Exporters = r.dataObject(data.Name, data.DataRef)
	case data.SecretRef != nil:
		source := content{KindSecret, data.SecretRef.Name, data.SecretRef.Key, r.facts.Secrets}
		result.Data = r.content(data.Name, source)
	case data.ConfigMapRef != nil:
		source := content{KindConfigMap, data.ConfigMapRef.Name, data.ConfigMapRef.Key, r.facts.ConfigMaps}
		result.Data = r.content(data.Name, source)
	default:
		r.faults.wrong(ReasonImportInvalid, "import %q has no source: set exactly one of dataRef, secretRef and configMapRef", data.Name)
	}
	return result
}

func (r *resolver) dataObject(name, reference string) (any, []string) {
	object, ok := r.facts.dataObjects[r.scope.ObjectName(reference)]
	if !ok {
		r.absent(name, KindDataObject, reference)
		return nil, nil
	}
	if !r.current(name, KindDataObject, reference, object.Labels) {
		return nil, nil
	}
	value, err := decodeJSON(object.Data.Raw)
	if err != nil {
		r.faults.wrong(ReasonImportInvalid, "import %q: %s cannot be read: %v", name, r.scope.describe(KindDataObject, reference), err)
	}
	return value, exporterOf(object.Labels)
}

// content is a key of a Secret or ConfigMap, or all of it.
type content struct {
	kind      ObjectKind
	name, key string
	found     map[string]map[string][]byte
}

func (r *resolver) content(name string, source content) any {
	object := fmt.Sprintf("%s %s/%s", source.kind, r.scope.Namespace, source.name)
	all, ok := source.found[source.name]
	if !ok {
		r.faults.absent("import %q: %s does not exist: create it", name, object)
		return nil
	}
	var value any
	var err error
	if source.key == "" {
		value, err = decodeEach(all)
	} else if text, found := all[source.key]; found {
		value, err = decodeYAML(text)
	} else {
		r.faults.absent("import %q: %s has no key %q: add it, or leave the key out to import all keys", name, object, source.key)
		return nil
	}
	if err != nil {
		r.faults.wrong(ReasonImportInvalid, "import %q: %s: %v", name, object, err)
	}
	return value
}

// absent reports an object that does not exist, and which installation can provide it.
func (r *resolver) absent(name string, kind ObjectKind, reference string) {
	help := "create it, or let another installation export it"
	if !r.scope.IsRoot() && !IsGlobal(reference) {
		help = "the parent must import it, or a sibling export it"
	}
	if list, _, ok := SplitElement(reference); ok {
		help = fmt.Sprintf("check that the parent's import %q has that element", list)
	}
	r.faults.absent("import %q: %s does not exist: %s", name, r.scope.describe(kind, reference), help)
}

// current reports whether an object belongs to the required job. Another job means that the cache lags behind: the exporter has always
// finished before its exports are read.
func (r *resolver) current(name string, kind ObjectKind, reference string, labels map[string]string) bool {
	want := r.scope.expectedJob(kind, reference)
	if want == "" || labels[lsv1alpha1.DataObjectJobIDLabel] == want {
		return true
	}
	r.faults.stale("%s of job %s (import %q)", r.scope.describe(kind, reference), want, name)
	return false
}

// exporterOf returns the installation that exported an object.
func exporterOf(labels map[string]string) []string {
	name, ok := InstallationOf(labels[lsv1alpha1.DataObjectSourceLabel])
	if !ok || labels[lsv1alpha1.DataObjectSourceTypeLabel] != lsv1alpha1.DataObjectSourceExport {
		return nil
	}
	return []string{name}
}

func (r *resolver) targets(target lsv1alpha1.TargetImport) Import {
	result := Import{Name: target.Name}
	switch {
	case target.Target != "":
		result.Type = lsv1alpha1.ImportTypeTarget
		result.Targets = r.named(target.Name, []string{target.Target}, nil)
	case target.Targets != nil:
		result.Type = lsv1alpha1.ImportTypeTargetList
		result.Targets = r.named(target.Name, target.Targets, nil)
	case target.TargetMap != nil:
		result.Type = lsv1alpha1.ImportTypeTargetMap
		keys := sorted(maps.Keys(target.TargetMap))
		result.Targets = r.named(target.Name, targetReferences(target), keys)
	case target.TargetListReference != "":
		result.Type = lsv1alpha1.ImportTypeTargetList
		result.Targets = r.list(target.Name, target.TargetListReference)
	case target.TargetMapReference != "":
		result.Type = lsv1alpha1.ImportTypeTargetMap
		result.Targets = r.targetMap(target.Name, target.TargetMapReference)
	default:
		r.faults.wrong(
			ReasonImportInvalid,
			"import %q has no source: set exactly one of target, targets, targetListRef, targetMap and targetMapRef",
			target.Name,
		)
	}
	for _, found := range result.Targets {
		result.Exporters = append(result.Exporters, exporterOf(found.Labels)...)
	}
	result.Exporters = sorted(slices.Values(result.Exporters))
	return result
}

// named finds Targets by reference. If keys are given, they are the entries of a map.
func (r *resolver) named(name string, references, keys []string) []Target {
	result := make([]Target, 0, len(references))
	for i, reference := range references {
		target, ok := r.facts.targets[r.scope.ObjectName(reference)]
		if !ok {
			r.absent(name, KindTarget, reference)
			continue
		}
		if !r.current(name, KindTarget, reference, target.Labels) {
			continue
		}
		found := r.complete(name, target)
		if keys != nil {
			found.Key = keys[i]
		}
		result = append(result, found)
	}
	return result
}

func (r *resolver) complete(name string, target *lsv1alpha1.Target) Target {
	result := Target{Target: target}
	if config := target.Spec.Configuration; config != nil && !config.IsNull() && !json.Valid(config.Raw) {
		r.faults.wrong(ReasonImportInvalid, "import %q: the config of Target %s/%s is not valid JSON", name, r.scope.Namespace, target.Name)
	}
	if target.Spec.SecretRef != nil {
		result.Secret = r.facts.Secrets[target.Spec.SecretRef.Name]
	}
	return result
}

// elements returns the targets of a list or map of the parent.
func (r *resolver) elements(name, field, reference string) []*lsv1alpha1.Target {
	if r.scope.IsRoot() {
		r.faults.wrong(
			ReasonImportInvalid,
			"import %q: %s takes over what a parent imports, and a root installation has no parent: list the targets instead",
			name,
			field,
		)
		return nil
	}
	var result []*lsv1alpha1.Target
	wanted := r.scope.ElementLabels(reference)
	for _, target := range r.facts.Facts.Targets {
		if hasLabels(target.Labels, wanted) {
			result = append(result, target)
		}
	}
	return result
}

func hasLabels(labels, wanted map[string]string) bool {
	for key, value := range wanted {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// list returns the targets of a list in order. The API server sorts them by name, and the names are hashes.
func (r *resolver) list(name, reference string) []Target {
	byIndex := map[int]Target{}
	for _, target := range r.elements(name, "targetListRef", reference) {
		position, err := strconv.Atoi(target.Labels[lsv1alpha1.DataObjectIndexLabel])
		if err != nil || position < 0 {
			r.faults.wrong(
				ReasonImportInvalid,
				"import %q: targetListRef %q is not a target list in the scope of installation %q",
				name,
				reference,
				r.scope.Parent,
			)
			return nil
		}
		byIndex[position] = r.complete(name, target)
	}
	result := make([]Target, 0, len(byIndex))
	for position := range len(byIndex) {
		target, ok := byIndex[position]
		if !ok {
			r.absent(name, KindTarget, IndexedReference(reference, position))
			return nil
		}
		result = append(result, target)
	}
	return result
}

func (r *resolver) targetMap(name, reference string) []Target {
	byKey := map[string]Target{}
	for _, target := range r.elements(name, "targetMapRef", reference) {
		key, ok := target.Labels[lsv1alpha1.DataObjectTargetMapKeyLabel]
		if !ok {
			r.faults.wrong(
				ReasonImportInvalid,
				"import %q: targetMapRef %q is not a target map in the scope of installation %q",
				name,
				reference,
				r.scope.Parent,
			)
			return nil
		}
		found := r.complete(name, target)
		found.Key = key
		byKey[key] = found
	}
	result := make([]Target, 0, len(byKey))
	for _, key := range sorted(maps.Keys(byKey)) {
		result = append(result, byKey[key])
	}
	return result
}
