// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"espalier.dev/internal/deployer/objects/cluster"
)

// rehearseHandover forecasts the result of server-side apply for an object whose fields were set by another strategy. The API server does
// not store the handover in a rehearsal, so it keeps fields of ours that the manifest no longer has: they are removed here, and the rest
// is sent again, to be completed and checked.
func (a *attempt) rehearseHandover(ctx context.Context, live, applied *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	var ours, others []fieldSet
	for _, record := range live.GetManagedFields() {
		if record.Manager == cluster.FieldManager && record.Subresource == "" {
			ours = append(ours, fieldsOf(record))
		}
	}
	for _, record := range applied.GetManagedFields() {
		if record.Manager != cluster.FieldManager || record.Operation == metav1.ManagedFieldsOperationApply {
			others = append(others, fieldsOf(record))
		}
	}
	result := applied.DeepCopy()
	if !takeAway(result.Object, ours, others) {
		return applied, nil
	}
	result.SetManagedFields(nil)
	return result, a.Cluster.Client().Update(ctx, result, owner)
}

// fieldSet is a set of fields in the API server's format. Keys name the next level: "f:" and the name of a field, "k:" and the key of
// an element of a list, "v:" and a value in a list. A dot stands for the level itself.
type fieldSet map[string]any

func fieldsOf(record metav1.ManagedFieldsEntry) fieldSet {
	set := fieldSet{}
	if record.FieldsV1 != nil {
		_ = json.Unmarshal(record.FieldsV1.GetRawBytes(), &set) // The API server wrote it, so it is valid.
	}
	return set
}

// takeAway removes from an object the fields that are in ours and not in needed. It reports whether there were any.
func takeAway(fields map[string]any, ours, needed []fieldSet) (changed bool) {
	for _, key := range keysIn(ours) {
		name, isField := strings.CutPrefix(key, "f:")
		value, exists := fields[name]
		if !isField || !exists {
			continue
		}
		kept, removed := taken(value, below(ours, key), below(needed, key))
		switch {
		case removed && kept == nil:
			delete(fields, name)
		case removed:
			fields[name] = kept
		}
		changed = changed || removed
	}
	return changed
}

// taken returns a value without the parts to remove, or nil if nothing remains.
func taken(value any, ours, needed []fieldSet) (kept any, changed bool) {
	if len(needed) == 0 && isOwned(ours) {
		return nil, true
	}
	switch value := value.(type) {
	case map[string]any:
		changed = takeAway(value, ours, needed)
		if changed && len(value) == 0 && len(needed) == 0 {
			return nil, true
		}
		return value, changed
	case []any:
		return takenElements(value, ours, needed)
	}
	return value, false
}

func takenElements(elements []any, ours, needed []fieldSet) (any, bool) {
	var kept []any
	changed := false
	for _, element := range elements {
		key := keyOf(element, keysIn(ours))
		if key == "" {
			kept = append(kept, element)
			continue
		}
		rest, removed := taken(element, below(ours, key), below(needed, key))
		changed = changed || removed
		if rest != nil {
			kept = append(kept, rest)
		}
	}
	if len(kept) == 0 {
		return nil, changed
	}
	return kept, changed
}

// isOwned reports whether a level itself belongs to one of the sets, as a leaf does.
func isOwned(sets []fieldSet) bool {
	return slices.ContainsFunc(sets, func(set fieldSet) bool {
		_, itself := set["."]
		return itself || len(set) == 0
	})
}

// below returns the subsets under a key, of the sets that have it.
func below(sets []fieldSet, key string) []fieldSet {
	var result []fieldSet
	for _, set := range sets {
		if inner, found := set[key]; found {
			fields, _ := inner.(map[string]any)
			result = append(result, fields)
		}
	}
	return result
}

func keysIn(sets []fieldSet) []string {
	keys := map[string]bool{}
	for _, set := range sets {
		for key := range set {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// keyOf returns the key, among the given ones, that matches an element of a list; empty if none does.
func keyOf(element any, keys []string) string {
	for _, key := range keys {
		var wanted any
		switch {
		case strings.HasPrefix(key, "v:") && json.Unmarshal([]byte(key[2:]), &wanted) == nil && sameValue(element, wanted):
			return key
		case strings.HasPrefix(key, "k:") && json.Unmarshal([]byte(key[2:]), &wanted) == nil && hasFields(element, wanted):
			return key
		}
	}
	return ""
}

func hasFields(element, wanted any) bool {
	fields, isObject := element.(map[string]any)
	names, _ := wanted.(map[string]any)
	if !isObject || len(names) == 0 {
		return false
	}
	for name, value := range names {
		if !sameValue(fields[name], value) {
			return false
		}
	}
	return true
}

func sameValue(a, b any) bool { return reflect.DeepEqual(a, b) || sameNumber(a, b) }
