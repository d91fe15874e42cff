// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation_test

import (
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/installation"
)

// A seal is valid for the blueprint and the name that it was made for, in whatever form the blueprint is returned.
func TestSeals(t *testing.T) {
	hasher := func(key string) dataflow.Hasher {
		h, err := dataflow.NewHasher([]byte(strings.Repeat(key, dataflow.MinHashKey)))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	inline := func(files string) lsv1alpha1.BlueprintDefinition {
		return lsv1alpha1.BlueprintDefinition{Inline: &lsv1alpha1.InlineBlueprint{Filesystem: lsv1alpha1.AnyJSON{Raw: []byte(files)}}}
	}
	sealed := func(verified bool) *lsv1alpha1.Installation {
		in := blueprint.Input{Installation: &lsv1alpha1.Installation{}}
		in.Installation.Namespace, in.Installation.Name, in.Verified = "garden", "shop", verified
		sub := blueprint.Subinstallation{Name: "part", ObjectName: "part-x"}
		sub.Spec.Blueprint = inline(`{"b": "1", "a": "2"}`)
		return installation.ChildObject(installation.Inputs{Input: in, Hasher: hasher("k")}, &sub)
	}
	for name, change := range map[string]func(*lsv1alpha1.Installation){
		"as it was": func(*lsv1alpha1.Installation) {},
		"read back": func(i *lsv1alpha1.Installation) { i.Spec.Blueprint = inline(`{"a":"2","b":"1"}`) },
	} {
		if i := sealed(true); !installation.Sealed(hasher("k"), afterwards(i, change)) {
			t.Errorf("%s: the seal is not good", name)
		}
	}
	for name, change := range map[string]func(*lsv1alpha1.Installation){
		"another blueprint":  func(i *lsv1alpha1.Installation) { i.Spec.Blueprint = inline(`{"a": "2", "b": "3"}`) },
		"no inline one":      func(i *lsv1alpha1.Installation) { i.Spec.Blueprint.Inline = nil },
		"no JSON":            func(i *lsv1alpha1.Installation) { i.Spec.Blueprint = inline("{") },
		"another name":       func(i *lsv1alpha1.Installation) { i.Name = "mine" },
		"another namespace":  func(i *lsv1alpha1.Installation) { i.Namespace = "mine" },
		"without annotation": func(i *lsv1alpha1.Installation) { i.Annotations = nil },
	} {
		if i := sealed(true); installation.Sealed(hasher("k"), afterwards(i, change)) {
			t.Errorf("%s: the seal is good", name)
		}
	}
	if installation.Sealed(hasher("l"), sealed(true)) {
		t.Error("the seal of another key is good")
	}
	if installation.Sealed(hasher("k"), sealed(false)) {
		t.Error("what comes from a blueprint that was not verified is sealed")
	}
}

func afterwards(i *lsv1alpha1.Installation, change func(*lsv1alpha1.Installation)) *lsv1alpha1.Installation {
	change(i)
	return i
}
