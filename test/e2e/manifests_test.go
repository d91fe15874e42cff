// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// documents reads the objects of a file in testdata.
func (w *world) documents(path ...string) []*unstructured.Unstructured {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"testdata"}, path...)...))
	if err != nil {
		w.Fatal(err)
	}
	return w.parse(string(text))
}

// parse reads YAML documents.
func (w *world) parse(text string) []*unstructured.Unstructured {
	w.Helper()
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq("\n"+text, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			w.Fatalf("%v in:\n%s", err, document)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
	return objects
}

// apply creates the objects of a case, or updates existing ones to the content of the file.
func (w *world) apply(path ...string) {
	w.Helper()
	for _, object := range w.documents(append([]string{"cases"}, path...)...) {
		w.put(object)
	}
}

// put creates an object, or replaces everything in it that the controllers do not own.
func (w *world) put(object *unstructured.Unstructured) {
	w.Helper()
	object.Object = w.fill(object.Object).(map[string]any)
	object.SetNamespace(w.Namespace)
	existing := &unstructured.Unstructured{}
	existing.SetGroupVersionKind(object.GroupVersionKind())
	for {
		if !w.get(object, existing) {
			if err := w.Client().Create(w.Context(), object); err != nil {
				w.Fatalf("create %s %s: %v", object.GetKind(), object.GetName(), err)
			}
			return
		}
		if err := w.Client().Update(w.Context(), replacement(existing, object)); err == nil {
			return
		} else if !apierrors.IsConflict(err) {
			w.Fatalf("update %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

func (w *world) get(like, into client.Object) bool {
	w.Helper()
	err := w.Client().Get(w.Context(), client.ObjectKeyFromObject(like), into)
	if client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	return err == nil
}

// replacement returns an existing object with the content of another one, and with its annotations added.
func replacement(existing, object *unstructured.Unstructured) *unstructured.Unstructured {
	result := existing.DeepCopy()
	for key, value := range object.Object {
		if key != "metadata" && key != "status" {
			result.Object[key] = value
		}
	}
	annotations := existing.GetAnnotations()
	for name, value := range object.GetAnnotations() {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[name] = value
	}
	result.SetAnnotations(annotations)
	return result
}

// fill replaces the placeholders in all strings of a value.
func (w *world) fill(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = w.fill(v[key])
		}
	case []any:
		for i := range v {
			v[i] = w.fill(v[i])
		}
	case string:
		return w.fillText(v)
	}
	return value
}

func (w *world) fillText(text string) string {
	switch {
	case text == "KUBECONFIG":
		return w.kubeconfig
	case text == "NOW":
		return time.Now().UTC().Format(time.RFC3339)
	}
	if object, ok := strings.CutPrefix(text, "UID("); ok {
		object = strings.TrimSuffix(object, ")")
		if w.uids[object] == "" {
			w.Fatalf("the UID of %s is needed before it exists", object)
		}
		return string(w.uids[object])
	}
	return strings.ReplaceAll(text, "NAMESPACE", w.Namespace)
}

// leaveBehind brings the namespace into the state in a file, as changes to testdata/takeover/tree.yaml. The controllers must not run yet.
func (w *world) leaveBehind(changes ...string) {
	w.Helper()
	objects := w.documents("takeover", "tree.yaml")
	for _, file := range changes {
		for _, change := range w.documents("takeover", file) {
			objects = w.change(objects, change)
		}
	}
	var deleted []*unstructured.Unstructured
	for _, object := range objects {
		if _, found, _ := unstructured.NestedString(object.Object, "metadata", "deletionTimestamp"); found {
			deleted = append(deleted, object)
		}
		w.leave(object)
	}
	for _, object := range deleted {
		w.Delete(object)
	}
}

// change changes the object with the kind and name of the change, or adds or removes one.
func (w *world) change(objects []*unstructured.Unstructured, change *unstructured.Unstructured) []*unstructured.Unstructured {
	w.Helper()
	absent, _, err := unstructured.NestedBool(change.Object, "absent")
	if err != nil {
		w.Fatal(err)
	}
	for i, object := range objects {
		if object.GetKind() != change.GetKind() || object.GetName() != change.GetName() {
			continue
		}
		if absent {
			return append(objects[:i:i], objects[i+1:]...)
		}
		merge(object.Object, change.Object)
		return objects
	}
	if absent {
		w.Fatalf("%s %s is absent already", change.GetKind(), change.GetName())
	}
	return append(objects, change)
}

// merge applies a JSON merge patch.
func merge(into, patch map[string]any) {
	for key, value := range patch {
		inner, isMap := value.(map[string]any)
		existing, wasMap := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isMap && wasMap:
			merge(existing, inner)
		default:
			into[key] = value
		}
	}
}

// leave stores an object and then its status.
func (w *world) leave(object *unstructured.Unstructured) {
	w.Helper()
	object.Object = w.fill(object.Object).(map[string]any)
	if object.GetKind() == "Execution" {
		w.compressItems(object)
	}
	status := object.Object["status"]
	if err := w.Client().Create(w.Context(), object); err != nil {
		w.Fatalf("create %s %s: %v", object.GetKind(), object.GetName(), err)
	}
	w.uids[object.GetKind()+"/"+object.GetName()] = object.GetUID()
	if status == nil {
		return
	}
	object.Object["status"] = status
	if err := w.Client().Status().Update(w.Context(), object); err != nil {
		w.Fatalf("write the status of %s %s: %v", object.GetKind(), object.GetName(), err)
	}
	if stored, written := w.json(object.Object["status"]), w.json(status); stored != written {
		w.Fatalf("the status of %s %s is not stored as it is written:\n%s\n%s", object.GetKind(), object.GetName(), written, stored)
	}
}

func (w *world) json(value any) string {
	w.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		w.Fatal(err)
	}
	return string(text)
}

// compressItems stores the deploy items as the original Go types do: as JSON, gzip and base64.
func (w *world) compressItems(execution *unstructured.Unstructured) {
	w.Helper()
	spec := execution.Object["spec"].(map[string]any)
	text := w.json(spec["deployItems"])
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write([]byte(text)); err != nil {
		w.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		w.Fatal(err)
	}
	delete(spec, "deployItems")
	spec["deployItemsCompressed"] = base64.StdEncoding.EncodeToString(packed.Bytes())
}

// create creates objects from YAML.
func (w *world) create(texts ...string) {
	w.Helper()
	for _, text := range texts {
		for _, object := range w.parse(text) {
			w.put(object)
		}
	}
}

// clusterTarget is a Target for the API server of the test.
const clusterTarget = `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Target
metadata: {name: cluster}
spec: {type: landscaper.gardener.cloud/kubernetes-cluster, config: {kubeconfig: KUBECONFIG}}
`
