// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"espalier.dev/api/deployer"
	manifest "espalier.dev/api/deployer/manifest/v1alpha2"
)

// OwnerAnnotation is set on every object that a deployer writes: namespace and name of the deploy item. The label
// ManagedDeployItemLabel has only the name, limited to 63 characters, so it serves to find objects, not to decide who owns
// them.
const OwnerAnnotation = manifest.GroupName + "/owner"

// Inherited replaces the hash of an entry that comes from a status without UIDs. Such an object exists, unlike one that is
// only about to be created.
const Inherited = "inherited"

const (
	maxLabelValue = 63
	hashDigits    = 8
)

// Owner is the deploy item that owns objects.
type Owner struct {
	Namespace string
	Name      string
}

// OwnerOf returns a deploy item as the owner of its objects.
func OwnerOf(item *lsv1alpha1.DeployItem) Owner {
	return Owner{Namespace: item.Namespace, Name: item.Name}
}

func (o Owner) String() string { return o.Namespace + "/" + o.Name }

// Label is the value of ManagedDeployItemLabel: the name, or a prefix of it with a hash if it is too long.
func (o Owner) Label() string {
	if len(o.Name) <= maxLabelValue {
		return o.Name
	}
	sum := sha256.Sum256([]byte(o.Name))
	stem := strings.TrimRight(o.Name[:maxLabelValue-hashDigits-1], "-.")
	return stem + "-" + hex.EncodeToString(sum[:])[:hashDigits]
}

// Mark marks an object as the owner's.
func (o Owner) Mark(object *unstructured.Unstructured) {
	object.SetLabels(with(object.GetLabels(), manifest.ManagedDeployItemLabel, o.Label()))
	object.SetAnnotations(with(object.GetAnnotations(), OwnerAnnotation, o.String()))
}

func with(entries map[string]string, key, value string) map[string]string {
	if entries == nil {
		entries = map[string]string{}
	}
	entries[key] = value
	return entries
}

// Other returns the owner of an object according to its mark; empty if it is unmarked or ours.
func (o Owner) Other(live *unstructured.Unstructured) string {
	if mark := live.GetAnnotations()[OwnerAnnotation]; mark != o.String() {
		return mark
	}
	return ""
}

// Created reports whether the owner created an existing object without an inventory entry, for example by a process
// that died before it could record the object.
func (o Owner) Created(live *unstructured.Unstructured) bool {
	return live.GetAnnotations()[OwnerAnnotation] == o.String()
}

// Has reports whether the live object is the one of an entry. The annotation decides. An object without it was written by an
// earlier controller, or another client removed the annotation: then its UID must match the entry, and under the policy fallback
// it must still have the label.
func (o Owner) Has(entry Entry, live *unstructured.Unstructured) bool {
	if mark, marked := live.GetAnnotations()[OwnerAnnotation]; marked {
		return mark == o.String()
	}
	labelled := live.GetLabels()[manifest.ManagedDeployItemLabel] == o.Label()
	switch {
	case entry.Resource.UID == "":
		return labelled && entry.FieldsHash == Inherited
	case entry.Policy == deployer.PolicyFallback:
		return labelled && entry.Resource.UID == live.GetUID()
	}
	return entry.Resource.UID == live.GetUID()
}
