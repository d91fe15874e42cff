// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
)

// ContextValues are the objects of a scope, by the references that nested installations use: what export executions see
// as dataobjects and targets.
type ContextValues struct {
	DataObjects map[string]any
	// Targets are single targets as whole objects, lists of targets in order, and maps of targets by key.
	Targets map[string]any
}

// CollectContext returns the objects of the scope that an installation opens: its own imports, and what its nested installations export.
// It omits objects of other jobs; with an empty job ID, it accepts all.
func CollectContext(
	installation, jobID string,
	dataObjects []*lsv1alpha1.DataObject,
	targets []*lsv1alpha1.Target,
) (ContextValues, error) {
	wanted := map[string]string{lsv1alpha1.DataObjectContextLabel: ContextOf(installation)}
	if jobID != "" {
		wanted[lsv1alpha1.DataObjectJobIDLabel] = jobID
	}
	values := ContextValues{DataObjects: map[string]any{}, Targets: map[string]any{}}
	for _, object := range dataObjects {
		if !hasLabels(object.Labels, wanted) {
			continue
		}
		value, err := decodeJSON(object.Data.Raw)
		if err != nil {
			details := failure.Details{Operation: OperationCreateExports, Reason: ReasonImportInvalid}
			return ContextValues{}, failure.NewTerminal(
				details,
				fmt.Errorf("DataObject %s/%s cannot be read: %w", object.Namespace, object.Name, err),
			)
		}
		values.DataObjects[object.Labels[lsv1alpha1.DataObjectKeyLabel]] = value
	}
	for _, target := range inListOrder(targets) {
		if hasLabels(target.Labels, wanted) {
			values.addTarget(target)
		}
	}
	return values, nil
}

// inListOrder sorts by position in a list, then by name.
func inListOrder(targets []*lsv1alpha1.Target) []*lsv1alpha1.Target {
	position := func(target *lsv1alpha1.Target) int {
		index, err := strconv.Atoi(target.Labels[lsv1alpha1.DataObjectIndexLabel])
		if err != nil {
			return -1
		}
		return index
	}
	return slices.SortedFunc(slices.Values(targets), func(a, b *lsv1alpha1.Target) int {
		return cmp.Or(cmp.Compare(position(a), position(b)), cmp.Compare(a.Name, b.Name))
	})
}

func (v *ContextValues) addTarget(target *lsv1alpha1.Target) {
	name := target.Labels[lsv1alpha1.DataObjectKeyLabel]
	value := Target{Target: target}.Value()
	if key, ok := target.Labels[lsv1alpha1.DataObjectTargetMapKeyLabel]; ok {
		entries, _ := v.Targets[name].(map[string]any)
		if entries == nil {
			entries = map[string]any{}
		}
		entries[key] = value
		v.Targets[name] = entries
		return
	}
	if _, ok := target.Labels[lsv1alpha1.DataObjectIndexLabel]; ok {
		list, _ := v.Targets[name].([]any)
		v.Targets[name] = append(list, value)
		return
	}
	v.Targets[name] = value
}
