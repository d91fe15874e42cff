// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/offline"
	"espalier.dev/internal/testkit"
)

// The command line and the controller use the same plan: the same facts lead to the same objects.
func TestRenderShowsWhatTheControllerWrites(t *testing.T) {
	w := newWorld(t)
	nested := header + imports("word") + deploy(item("inner", "word: {{ .imports.word }}"))
	root := w.installation("app", header+imports("word")+deploy(item("outer", "word: {{ .imports.word }}"))+
		nest(sub{name: "below", blueprint: nested, imports: map[string]string{"word": "word"}})).ImportData("word", "word").Reconcile().Build()
	word := testkit.DataObject(w.namespace, "word", "hello").Build()
	manifests := &offline.Manifests{
		Installations: []*lsv1alpha1.Installation{root.DeepCopy()},
		DataObjects:   []*lsv1alpha1.DataObject{word.DeepCopy()},
	}
	w.create(word, root)
	w.finished("app", lsv1alpha1.PhaseSucceeded)

	library, err := offline.OpenLibrary("", nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := offline.Render(t.Context(), manifests, offline.Options{Recursive: true, Library: library})
	if err != nil {
		t.Fatal(err)
	}
	shown, err := result.Manifests(false)
	if err != nil {
		t.Fatal(err)
	}
	compared := map[string]int{}
	for _, manifest := range shown {
		rendered, written := unstructured.Unstructured{Object: manifest}, unstructured.Unstructured{}
		written.SetGroupVersionKind(rendered.GroupVersionKind())
		key := client.ObjectKey{Namespace: w.namespace, Name: rendered.GetName()}
		if err := w.server.Client().Get(t.Context(), key, &written); err != nil {
			t.Errorf("%s %s is shown and not written: %v", rendered.GetKind(), rendered.GetName(), err)
			continue
		}
		for _, part := range []string{"spec", "data"} {
			if diff := cmp.Diff(text(t, rendered.Object[part]), text(t, written.Object[part])); diff != "" {
				t.Errorf("%s of %s %s (-shown +written):\n%s", part, rendered.GetKind(), rendered.GetName(), diff)
			}
		}
		compared[rendered.GetKind()]++
	}
	if diff := cmp.Diff(map[string]int{"Execution": 2, "Installation": 1, "DataObject": 2}, compared); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

func text(t *testing.T, value any) string {
	encoded, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}
