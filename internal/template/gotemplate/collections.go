// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"maps"
	"reflect"
	"slices"

	"espalier.dev/internal/template"
)

// itemSize is the assumed size of an entry of a map or an item of a list.
const itemSize = 64

// dict builds a map from alternating keys and values. A last key without a value gets an empty string.
func (r *run) dict(args ...any) (map[string]any, error) {
	if err := r.buildRepeated(int64(len(args)), itemSize); err != nil {
		return nil, err
	}
	entries := make(map[string]any, len(args)/2)
	for i := 0; i < len(args); i += 2 {
		key, err := r.key(args[i])
		if err != nil {
			return nil, err
		}
		entries[key] = ""
		if i+1 < len(args) {
			entries[key] = args[i+1]
		}
	}
	return entries, nil
}

// key converts a value to the key of a map.
func (r *run) key(value any) (string, error) {
	if text, ok := value.(string); ok {
		return text, r.meter.Read(int64(len(text)))
	}
	if err := r.meter.Measure(value); err != nil {
		return "", err
	}
	return format(value), nil
}

// set changes a map. It rejects a map that would contain itself: any walk through it would never end.
func (r *run) set(entries map[string]any, key string, value any) (map[string]any, error) {
	if entries == nil {
		return nil, template.Problemf("there is no map to change")
	}
	if err := r.meter.Build(itemSize + int64(len(key))); err != nil {
		return nil, err
	}
	if err := r.refuseCycle(entries, value, 0); err != nil {
		return nil, err
	}
	entries[key] = value
	return entries, nil
}

// refuseCycle fails if a value is a map or contains it.
func (r *run) refuseCycle(entries map[string]any, value any, level int) error {
	if err := r.meter.Nested(level); err != nil {
		return err
	}
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.Map:
		if v.Pointer() == reflect.ValueOf(entries).Pointer() {
			return template.Problemf("a map cannot contain itself")
		}
		return r.refuseCycleBelow(entries, v.MapRange(), level)
	case reflect.Slice:
		if err := r.meter.Step(int64(v.Len())); err != nil {
			return err
		}
		for i := range v.Len() {
			if err := r.refuseCycle(entries, v.Index(i).Interface(), level+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) refuseCycleBelow(entries map[string]any, below *reflect.MapIter, level int) error {
	for below.Next() {
		if err := r.meter.Step(1); err != nil {
			return err
		}
		if err := r.refuseCycle(entries, below.Value().Interface(), level+1); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) unset(entries map[string]any, key string) (map[string]any, error) {
	delete(entries, key)
	return entries, r.meter.Step(1)
}

// keys returns the keys of maps, one map after the other, those of each map sorted.
func (r *run) keys(collections ...map[string]any) ([]string, error) {
	all := []string{}
	for _, entries := range collections {
		if err := r.buildRepeated(int64(len(entries)), itemSize); err != nil {
			return nil, err
		}
		all = append(all, slices.Sorted(maps.Keys(entries))...)
	}
	return all, nil
}

// values returns the values of a map in the order of their keys.
func (r *run) values(entries map[string]any) ([]any, error) {
	names, err := r.keys(entries)
	if err != nil {
		return nil, err
	}
	all := make([]any, len(names))
	for i, name := range names {
		all[i] = entries[name]
	}
	return all, nil
}

// costOfMerge is the minimum cost of a merge in steps.
const costOfMerge = 20

type mergeFunction = func(map[string]any, ...map[string]any) (any, error)

func (r *run) merge(into map[string]any, from ...map[string]any) (any, error) {
	return r.mergeWith("mustMerge", into, from)
}

func (r *run) mergeOverwrite(into map[string]any, from ...map[string]any) (any, error) {
	return r.mergeWith("mustMergeOverwrite", into, from)
}

// mergeWith merges copies of maps into a map, so that the map cannot contain itself.
func (r *run) mergeWith(name string, into map[string]any, from []map[string]any) (any, error) {
	if into == nil {
		return nil, template.Problemf("there is no map to change")
	}
	if err := r.meter.Step(costOfMerge); err != nil {
		return nil, err
	}
	if err := r.walk(into); err != nil {
		return nil, err
	}
	copies := make([]map[string]any, len(from))
	for i, entries := range from {
		copied, err := r.deepCopy(entries)
		if err != nil {
			return nil, err
		}
		copies[i], _ = copied.(map[string]any)
	}
	merged, err := library[name].value.Interface().(mergeFunction)(into, copies...)
	if err != nil {
		return nil, template.Problemf("the maps cannot be merged")
	}
	return merged, nil
}

func (r *run) deepCopy(value any) (any, error) {
	if err := r.walk(value); err != nil {
		return nil, err
	}
	return template.Plain(value, r.meter.Limits())
}

// items returns the items of a list of any type.
func (r *run) items(list any) ([]any, error) {
	if items, ok := list.([]any); ok {
		return items, nil
	}
	value := reflect.ValueOf(list)
	if kind := value.Kind(); kind != reflect.Slice && kind != reflect.Array {
		return nil, template.Problemf("it takes a list, not a value of type %s", template.TypeName(list))
	}
	if err := r.buildRepeated(int64(value.Len()), itemSize); err != nil {
		return nil, err
	}
	items := make([]any, value.Len())
	for i := range items {
		items[i] = value.Index(i).Interface()
	}
	return items, nil
}

// contained reports whether a value is among others. Each comparison costs as much as measuring the value.
func (r *run) contained(value any, among []any) (bool, error) {
	for _, other := range among {
		if err := r.meter.Step(1); err != nil {
			return false, err
		}
		if sameValue(value, other) {
			return true, nil
		}
	}
	return false, nil
}

// sameValue compares values by their content, and numbers by their value.
func sameValue(one, other any) bool {
	x, ok := numberOf(reflect.ValueOf(one))
	y, alsoOK := numberOf(reflect.ValueOf(other))
	if ok && alsoOK {
		return x == y
	}
	return reflect.DeepEqual(one, other)
}

// compareAll charges for comparing every item of one list with every item of another.
func (r *run) compareAll(ones, others []any) error {
	_, before := r.meter.Used()
	if err := r.meter.Measure(ones); err != nil {
		return err
	}
	if err := r.meter.Measure(others); err != nil {
		return err
	}
	_, after := r.meter.Used()
	return r.meter.Step(int64(min(len(ones), len(others))) * (after - before) / partSize)
}

func (r *run) uniq(list any) ([]any, error) {
	items, err := r.items(list)
	if err != nil {
		return nil, err
	}
	if err := r.compareAll(items, items); err != nil {
		return nil, err
	}
	return r.filter(items, func(item any, before []any) (bool, error) {
		known, err := r.contained(item, before)
		return !known, err
	})
}

func (r *run) without(list any, omitted ...any) ([]any, error) {
	items, err := r.items(list)
	if err != nil {
		return nil, err
	}
	if err := r.compareAll(items, omitted); err != nil {
		return nil, err
	}
	return r.filter(items, func(item any, _ []any) (bool, error) {
		known, err := r.contained(item, omitted)
		return !known, err
	})
}

// filter returns the items to keep, and passes to keep those already kept.
func (r *run) filter(items []any, keep func(item any, before []any) (bool, error)) ([]any, error) {
	kept := []any{}
	for _, item := range items {
		ok, err := keep(item, kept)
		if err != nil {
			return nil, err
		}
		if ok {
			kept = append(kept, item)
		}
	}
	return kept, r.buildRepeated(int64(len(kept)), itemSize)
}

func (r *run) has(needle, haystack any) (bool, error) {
	if haystack == nil {
		return false, nil
	}
	items, err := r.items(haystack)
	if err != nil {
		return false, err
	}
	if err := r.compareAll([]any{needle}, items); err != nil {
		return false, err
	}
	return r.contained(needle, items)
}

// chunk divides a list into lists of a given size; the last one has the rest.
func (r *run) chunk(size int, list any) ([][]any, error) {
	if size < 1 {
		return nil, template.Problemf("the size of a chunk is less than one")
	}
	items, err := r.items(list)
	if err != nil {
		return nil, err
	}
	if err := r.buildRepeated(int64(len(items)), itemSize); err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(items, size)), nil
}
