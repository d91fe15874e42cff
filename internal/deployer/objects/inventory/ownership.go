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

// OwnerAnnotation is put on every object that a deployer writes: namespace and name of the deploy item. The label
// ManagedDeployItemLabel has the name only and at most 63 characters of it, so it serves to find objects, not to decide
// whose they are.
const OwnerAnnotation = manifest.GroupName + "/owner"

// Inherited stands in the place of an entry's hash if the entry comes from a status that had no UIDs. Such an object
// exists, other than one that is only about to be created.
const Inherited = "inherited"

const (
	maxLabelValue = 63
	hashDigits    = 8
)

// Owner is the deploy item whose objects are meant.
type Owner struct {
	Namespace string
	Name      string
}

// OwnerOf returns a deploy item as the owner of its objects.
func OwnerOf(item *lsv1alpha1.DeployItem) Owner {
	return Owner{Namespace: item.Namespace, Name: item.Name}
}

func (o Owner) String() string { return o.Namespace + "/" + o.Name }

// Label is the value of ManagedDeployItemLabel: the name, or what of it fits, and a hash.
func (o Owner) Label() string {
	if len(o.Name) <= maxLabelValue {
		return o.Name
	}
	sum := sha256.Sum256([]byte(o.Name))
	stem := strings.TrimRight(o.Name[:maxLabelValue-hashDigits-1], "-.")
	return stem + "-" + hex.EncodeToString(sum[:])[:hashDigits]
}

// Mark makes an object one of the owner's.
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

// Other returns whose an object is according to its mark, if it is marked and not the owner's.
func (o Owner) Other(live *unstructured.Unstructured) string {
	if mark := live.GetAnnotations()[OwnerAnnotation]; mark != o.String() {
		return mark
	}
	return ""
}

// Created reports whether an object that exists although it is in no inventory was created by the owner, for example
// by a process that ended before it could take note of it.
func (o Owner) Created(live *unstructured.Unstructured) bool {
	return live.GetAnnotations()[OwnerAnnotation] == o.String()
}

// Has reports whether the object that is there now is the one of an entry. The annotation decides. An object without it
// was written by an earlier controller, or somebody took the annotation away: then it has to be the object that the entry
// remembers, and under the policy fallback it must still have the label.
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
