// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package inventory lists the objects that a deploy item has in a cluster. The list is stored in the item's provider status,
// and is the only record of what to delete later. So an object enters the list before it is created, and leaves it only when
// it is confirmed to be gone, or not to be ours.
package inventory

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/api/deployer"
)

// Entry is one object of the list.
type Entry = deployer.ManagedResource

// Key identifies an object. It does not contain the version of the kind: an object is the same in all versions.
type Key struct {
	Group     string
	Kind      string
	Namespace string
	Name      string
}

// KeyOf returns the key of an object.
func KeyOf(object *unstructured.Unstructured) Key {
	gvk := object.GroupVersionKind()
	return Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: object.GetNamespace(), Name: object.GetName()}
}

// KeyOfEntry returns the key of an entry's object.
func KeyOfEntry(entry Entry) Key {
	gvk := GVK(entry)
	return Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: entry.Resource.Namespace, Name: entry.Resource.Name}
}

// GVK returns the kind of an entry's object.
func GVK(entry Entry) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(entry.Resource.APIVersion, entry.Resource.Kind)
}

// ObjectKey returns namespace and name of an entry's object.
func ObjectKey(entry Entry) client.ObjectKey {
	return client.ObjectKey{Namespace: entry.Resource.Namespace, Name: entry.Resource.Name}
}

// IsCRD reports whether an entry is a CRD.
func IsCRD(entry Entry) bool {
	gvk := GVK(entry)
	return gvk.Group == "apiextensions.k8s.io" && gvk.Kind == "CustomResourceDefinition"
}

// Inventory is a list of entries without duplicates. The zero value is empty.
type Inventory struct {
	entries map[Key]Entry
}

// New creates an inventory of entries. Of several with the same key, the last one wins.
func New(entries []Entry) Inventory {
	result := Inventory{entries: map[Key]Entry{}}
	for _, entry := range entries {
		result.entries[KeyOfEntry(entry)] = entry
	}
	return result
}

// Find returns the entry of a key.
func (i Inventory) Find(key Key) (Entry, bool) {
	entry, found := i.entries[key]
	return entry, found
}

// Put adds an entry, or replaces the one with the same key.
func (i *Inventory) Put(entry Entry) {
	if i.entries == nil {
		i.entries = map[Key]Entry{}
	}
	i.entries[KeyOfEntry(entry)] = entry
}

// Drop removes the entry of a key.
func (i *Inventory) Drop(key Key) { delete(i.entries, key) }

// Len returns the number of entries.
func (i Inventory) Len() int { return len(i.entries) }

// Entries returns all entries in a fixed order.
func (i Inventory) Entries() []Entry {
	var result []Entry
	for _, entry := range i.entries {
		result = append(result, entry)
	}
	slices.SortFunc(result, func(a, b Entry) int { return KeyOfEntry(a).Compare(KeyOfEntry(b)) })
	return result
}

// Compare orders keys by group, kind, namespace and name.
func (k Key) Compare(other Key) int {
	return strings.Compare(k.sortable(), other.sortable())
}

func (k Key) sortable() string {
	return strings.Join([]string{k.Group, k.Kind, k.Namespace, k.Name}, "\x00")
}

// Intend adds an object that is about to be applied. Known facts about the object are kept; how to delete it comes from the
// new entry.
func (i *Inventory) Intend(entry Entry) {
	if known, found := i.Find(KeyOfEntry(entry)); found {
		entry.Resource.UID, entry.FieldsHash = known.Resource.UID, known.FieldsHash
	}
	i.Put(entry)
}
