// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const someInstallation = `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata:
  name: a
  annotations:
    landscaper.gardener.cloud/operation: reconcile
spec:
  replicas: 3
  suspend: false
  empty: {}
  none: []
  names: [x, "y"]
  items:
  - name: first
    size: 1
  - name: second
    size: 2
status:
  phase: Init
  conditions:
  - type: Ready
    status: "False"
`

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestFieldPaths(t *testing.T) {
	object := parsed(t, someInstallation)
	cases := map[string]string{ // path: value, empty if there is none
		"status.phase": "Init",
		"metadata.annotations[landscaper.gardener.cloud/operation]": "reconcile",
		"status.conditions[type=Ready].status":                      "False",
		"status.conditions[type=Other].status":                      "",
		"spec.items[1].size":                                        "2",
		"spec.items[name=second].size":                              "2",
		"spec.items[2].size":                                        "",
		"spec.items[-1].size":                                       "",
		"spec.items[x].size":                                        "",
		"spec.names[1]":                                             "y",
		"spec.replicas":                                             "3",
		"spec.suspend":                                              "false",
		"spec.empty":                                                "{}",
		"spec.names":                                                `["x","y"]`,
		"spec.missing.deeper":                                       "",
		"status.phase.deeper":                                       "",
	}
	for path, want := range cases {
		if got := (Revision{Object: object}).Field(path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}

// Every leaf that flatten names can be looked up under that name.
func TestLeavesAreFoundUnderTheirPaths(t *testing.T) {
	object := parsed(t, someInstallation)
	leaves := map[string]string{}
	flatten(object.Object, "", leaves)
	for path, want := range leaves {
		if got := (Revision{Object: object}).Field(path); got != want {
			t.Errorf("%s is %q, but was listed as %q", path, got, want)
		}
	}
	want := []string{
		"apiVersion", "kind", "metadata.annotations[landscaper.gardener.cloud/operation]", "metadata.name", "spec.empty",
		"spec.items[name=first].name", "spec.items[name=first].size", "spec.items[name=second].name", "spec.items[name=second].size",
		"spec.names[0]", "spec.names[1]", "spec.none", "spec.replicas", "spec.suspend",
		"status.conditions[type=Ready].status", "status.conditions[type=Ready].type", "status.phase",
	}
	if got := slices.Sorted(maps.Keys(leaves)); !slices.Equal(got, want) {
		t.Errorf("leaves %q", got)
	}
}

func TestChangesAreTold(t *testing.T) {
	before := parsed(t, someInstallation)
	after := parsed(
		t,
		strings.NewReplacer("phase: Init", "phase: Done\n  jobID: j", "replicas: 3\n", "\n", `status: "False"`, `status: "True"`).
			Replace(someInstallation),
	)
	after.SetResourceVersion("7")
	want := []string{
		"spec.replicas: - 3",
		"status.conditions[type=Ready].status: False -> True",
		"status.jobID: + j",
		"status.phase: Init -> Done",
	}
	if got := changes(before, after); !slices.Equal(got, want) {
		t.Errorf("changes %q, want %q", got, want)
	}
	if got := changes(before, before); len(got) != 0 {
		t.Errorf("nothing has changed, and yet: %q", got)
	}
}

func TestLongValuesAreCutShort(t *testing.T) {
	before, after := parsed(t, someInstallation), parsed(t, someInstallation)
	after.Object["spec"] = map[string]any{"text": strings.Repeat("ä\n", 1000)}
	for _, line := range changes(before, after) {
		if len(line) > 400 || strings.Contains(line, "\n") {
			t.Errorf("a line of %d bytes: %s", len(line), line)
		}
	}
}

func TestSecretsAreMasked(t *testing.T) {
	cases := map[string]string{
		"a secret":              "kind: Secret\ndata: {key: CANARY}\nstringData: {other: CANARY}\n",
		"a target":              "kind: Target\nspec: {config: {kubeconfig: {users: [{token: CANARY}]}}}\n",
		"a target with a text":  "kind: Target\nspec: {config: CANARY}\n",
		"an applied object":     "kind: Secret\nmetadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: CANARY}}\n",
		"a target without spec": "kind: Target\n",
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			object := parsed(t, text)
			if shown := toYAML(object); strings.Contains(shown, "CANARY") ||
				strings.Contains(text, "CANARY") && !strings.Contains(shown, "masked") {
				t.Errorf("shows\n%s", shown)
			}
			if lines := strings.Join(changes(nil, object), "\n"); strings.Contains(lines, "CANARY") {
				t.Errorf("tells\n%s", lines)
			}
			if strings.Contains(text, "CANARY") && !strings.Contains(render(object.Object), "CANARY") {
				t.Error("the object itself was changed")
			}
		})
	}
}
