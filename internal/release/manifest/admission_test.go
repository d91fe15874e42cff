// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"espalier.dev/internal/release/bundle"
)

// policyKeys are those of the policy that makes approving a separate right, and of its binding, without which it has no effect.
var policyKeys = []string{"ValidatingAdmissionPolicy /espalier-approvals", "ValidatingAdmissionPolicyBinding /espalier-approvals"}

// Approving is a separate right, whatever installs Espalier, unless a user turns that off; this leaves out nothing else.
func TestThePolicyOfApprovalsIsOnUnlessTurnedOff(t *testing.T) {
	for name, objects := range map[string][]*unstructured.Unstructured{
		"kustomize": built(t, Default), "kustomize, high availability": built(t, HighAvailability),
		"chart": rendered(t, ""), "chart, high availability": rendered(t, "controller: {replicas: 2}"),
	} {
		found := byKey(t, objects)
		for _, each := range policyKeys {
			if found[each] == nil {
				t.Errorf("%s: %s is missing", name, each)
			}
		}
	}
	for name, objects := range map[string]struct{ with, without []*unstructured.Unstructured }{
		"kustomize": {built(t, Default), splitBuild(t, overlayOfThePage(t))},
		"chart":     {rendered(t, ""), rendered(t, "approvals: {policy: false}")},
	} {
		want := byKey(t, objects.with)
		maps.DeleteFunc(want, func(each string, _ *unstructured.Unstructured) bool {
			return each == policyKeys[0] || each == policyKeys[1]
		})
		if diff := cmp.Diff(want, byKey(t, objects.without)); diff != "" {
			t.Errorf("%s: turned off, more is different (- want, + got):\n%s", name, diff)
		}
	}
}

// overlayOfThePage is the overlay with which docs/approvals.md turns the policy off.
func overlayOfThePage(t *testing.T) bundle.File {
	t.Helper()
	page, err := os.ReadFile("../../../docs/approvals.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(page), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		if strings.Contains(text, "$patch: delete") {
			return bundle.File{Name: "overlay/kustomization.yaml", Content: []byte(strings.ReplaceAll(text, "espalier/default", "../default"))}
		}
	}
	t.Fatal("docs/approvals.md has no overlay that deletes the policy")
	return bundle.File{}
}

// splitBuild returns what an overlay, overlay/kustomization.yaml, makes of the Kustomizations.
func splitBuild(t *testing.T, overlay bundle.File) []*unstructured.Unstructured {
	t.Helper()
	text, err := Build(append(kustomizations(t), overlay), "overlay")
	if err != nil {
		t.Fatal(err)
	}
	return split(t, string(text))
}
