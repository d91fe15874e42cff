// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"espalier.dev/api/deployer"
	manifest "espalier.dev/api/deployer/manifest/v1alpha2"
)

func TestLabelsFit(t *testing.T) {
	short := Owner{Namespace: "garden", Name: "item"}
	if short.Label() != "item" {
		t.Errorf("the label is %q", short.Label())
	}
	seen := map[string]bool{}
	for _, end := range []string{"a", "b", ".c", "-d"} {
		owner := Owner{Namespace: "garden", Name: strings.Repeat("x", 53) + "." + strings.Repeat("y", 10) + end}
		label := owner.Label()
		if problems := validation.IsValidLabelValue(label); len(problems) > 0 || seen[label] {
			t.Errorf("%q: %v, seen before: %v", label, problems, seen[label])
		}
		seen[label] = true
	}
}

func TestOwnership(t *testing.T) {
	owner := Owner{Namespace: "garden", Name: "item"}
	for name, c := range map[string]struct {
		annotation, label string
		entry             Entry
		want              bool
	}{
		"marked":                                {"garden/item", "", entry("manage", "", ""), true},
		"marked by another":                     {"other/item", "item", entry("manage", "1", "h"), false},
		"unmarked, remembered":                  {"", "", entry("manage", "1", "h"), true},
		"unmarked, another object":              {"", "item", entry("manage", "2", "h"), false},
		"unmarked, only intended":               {"", "item", entry("manage", "", ""), false},
		"inherited without UID":                 {"", "item", entry("manage", "", Inherited), true},
		"inherited without UID and label":       {"", "", entry("manage", "", Inherited), false},
		"fallback, labelled and remembered":     {"", "item", entry("fallback", "1", "h"), true},
		"fallback, label was taken away":        {"", "", entry("fallback", "1", "h"), false},
		"fallback, labelled and not remembered": {"", "item", entry("fallback", "2", "h"), false},
	} {
		t.Run(name, func(t *testing.T) {
			live := &unstructured.Unstructured{Object: map[string]any{}}
			live.SetUID("1")
			if c.annotation != "" {
				live.SetAnnotations(map[string]string{OwnerAnnotation: c.annotation})
			}
			if c.label != "" {
				live.SetLabels(map[string]string{manifest.ManagedDeployItemLabel: c.label})
			}
			if got := owner.Has(c.entry, live); got != c.want {
				t.Errorf("Has = %v", got)
			}
		})
	}
}

func entry(policy deployer.ManifestPolicy, uid types.UID, hash string) Entry {
	return Entry{
		Policy:     policy,
		FieldsHash: hash,
		Resource:   deployer.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "garden", Name: "one", UID: uid},
	}
}

func TestIntendKeepsWhatIsKnown(t *testing.T) {
	known := New([]Entry{entry("manage", "1", "h")})
	changed := entry("keep", "", "")
	changed.Resource.APIVersion = "v2"
	known.Intend(changed)
	other := entry("manage", "", "")
	other.Resource.APIVersion = "group/v1"
	known.Intend(other)
	want := changed
	want.Resource.UID, want.FieldsHash = "1", "h"
	if diff := cmp.Diff([]Entry{want, other}, known.Entries()); diff != "" {
		t.Error(diff)
	}
}
