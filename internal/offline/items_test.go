// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/masking"
)

// Objects that deploy items would deploy are shown without the values of Secrets, wherever they occur.
func TestDeployItemsAreInspected(t *testing.T) {
	secrets := &masking.Values{}
	secrets.AddText("correct-horse")
	execution := &lsv1alpha1.Execution{}
	execution.Namespace, execution.Name = "ns", "shop"
	execution.Spec.DeployItems = []lsv1alpha1.DeployItemTemplate{{Name: "good", Type: "known"}, {Name: "bad", Type: "known"}, {Name: "other", Type: "unknown"}}
	inspectors := map[lsv1alpha1.DeployItemType]Inspector{
		"known": func(_ context.Context, item lsv1alpha1.DeployItemTemplate) ([]*unstructured.Unstructured, error) {
			if item.Name == "bad" {
				return nil, errors.New("the field is correct-horse")
			}
			return []*unstructured.Unstructured{{Object: map[string]any{
				"kind": "Role", "metadata": map[string]any{"name": "x", "annotations": map[string]any{"a": "correct-horse"}}, "rules": []any{"correct-horse"},
			}}}, nil
		},
	}
	for _, objects := range []bool{false, true} {
		result := &Result{secrets: secrets}
		result.add(execution)
		result.Inspect(t.Context(), inspectors, objects)
		if diff := cmp.Diff([]string{"Execution ns/shop, deploy item bad: the field is <masked>"}, result.Warnings); diff != "" {
			t.Error(diff)
		}
		manifests, err := result.Manifests(false)
		if err != nil {
			t.Fatal(err)
		}
		if !objects {
			if len(manifests) != 1 {
				t.Errorf("there are %d manifests", len(manifests))
			}
			continue
		}
		want := map[string]any{"kind": "Role", "metadata": map[string]any{"name": "x", "annotations": map[string]any{"a": Mask}}, "rules": []any{Mask}}
		if diff := cmp.Diff(want, manifests[1]); diff != "" {
			t.Error(diff)
		}
	}
}

// Deploy items that would be stored compressed are rendered uncompressed, so that secrets in them are masked.
func TestManyDeployItemsAreReadable(t *testing.T) {
	const secret = "correct-horse-battery"
	m := NewManifests("ns")
	text := `
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: ` + secret + `}
---
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata: {name: shop}
spec:
  imports: {data: [{name: password, secretRef: {name: login, key: password}}]}
  blueprint:
    inline:
      filesystem:
        blueprint.yaml: |
          imports: [{name: password, schema: {type: string}}]
          deployExecutions:
          - name: d
            type: GoTemplate
            template: |
              deployItems:
              - name: web
                type: example.org/web
                config: {apiVersion: example.org/v1, kind: C, colour: green, login: {{ .imports.password }}, rest: "{{ repeat 100000 "x" }}"}
`
	if err := m.Add("in.yaml", []byte(text)); err != nil {
		t.Fatal(err)
	}
	library, err := OpenLibrary("", nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := Render(t.Context(), m, Options{Library: library})
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := result.Manifests(false)
	if err != nil {
		t.Fatal(err)
	}
	var written bytes.Buffer
	if err := Write(&written, FormatYAML, manifests); err != nil {
		t.Fatal(err)
	}
	if shown := written.String(); strings.Contains(shown, secret) || strings.Contains(shown, "deployItemsCompressed") ||
		!strings.Contains(shown, "colour: green") {
		t.Errorf("%.3000s", shown)
	}
}
