// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"espalier.dev/internal/deployer/objects/inventory"
)

// MaxObjects is the maximum number of objects of a deploy item.
const MaxObjects = 2000

// Complain records a problem at a path.
type Complain func(path, format string, args ...any)

// Validate reports problems in a set of objects before any of them is sent. The inventory in the status names kinds and
// objects, so invalid kinds or names must not get into it.
func Validate(objects []Object, complain Complain) {
	first := map[inventory.Key]string{}
	for _, o := range objects {
		if !validateObject(o, complain) {
			continue
		}
		if earlier, twice := first[o.Key()]; twice {
			complain(o.Path, "is the same object as %s", earlier)
			continue
		}
		first[o.Key()] = o.Path
	}
}

func validateObject(o Object, complain Complain) bool {
	sound := true
	note := func(field, format string, args ...any) {
		sound = false
		complain(o.Path+field, format, args...)
	}
	if _, err := schema.ParseGroupVersion(o.Manifest.GetAPIVersion()); err != nil || o.Manifest.GetAPIVersion() == "" {
		note(".apiVersion", "is missing or malformed")
	}
	validateKind(o.Manifest.GetKind(), note)
	if strings.HasSuffix(o.Manifest.GetKind(), "List") && o.Manifest.IsList() {
		note(".kind", "is a list within a list")
	}
	validateName(o, note)
	return sound
}

var kindForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

func validateKind(kind string, note Complain) {
	switch {
	case kind == "":
		note(".kind", "is missing")
	case !kindForm.MatchString(kind):
		note(".kind", "is not a kind: use a letter followed by letters and digits")
	}
}

func validateName(o Object, note Complain) {
	name, namespace := o.Manifest.GetName(), o.Manifest.GetNamespace()
	wrong := validation.IsDNS1123Subdomain(name)
	if !usesOrdinaryNames(o.Manifest.GroupVersionKind().Group) {
		wrong = content.IsPathSegmentName(name)
	}
	switch {
	case name == "":
		note(".metadata.name", "is missing: each object of a deploy item needs a name")
	case len(wrong) > 0:
		note(".metadata.name", "is not a name: %s", wrong[0])
	}
	if namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0 {
		note(".metadata.namespace", "is not the name of a namespace: use lower-case letters, digits and '-', at most 63 of them")
	}
}

// usesOrdinaryNames reports whether the names in an API group are DNS names. Names of roles are not, and those of other API
// servers need not be.
func usesOrdinaryNames(group string) bool {
	switch group {
	case "", "apps", "batch", "autoscaling", "policy":
		return true
	}
	return false
}
