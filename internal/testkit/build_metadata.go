// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"encoding/json"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
)

// Create stores objects, in the given order, or fails the test. It updates them to what the server returned. The roles that it binds are in
// force when it returns, unless they do not exist yet: the API server learns of them with a delay.
func Create(t testing.TB, server *APIServer, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := server.Client().Create(t.Context(), object); err != nil {
			t.Fatalf("create %T %s/%s: %v", object, object.GetNamespace(), object.GetName(), err)
		}
	}
	awaitRights(t, server, objects)
}

// metadata is the common part of all builders. B is the builder that contains it, which each method returns.
type metadata[B any] struct {
	object  metav1.Object
	builder B
}

// Label sets a label.
func (m metadata[B]) Label(key, value string) B {
	labels := m.object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = value
	m.object.SetLabels(labels)
	return m.builder
}

// Annotate sets an annotation.
func (m metadata[B]) Annotate(key, value string) B {
	annotations := m.object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	m.object.SetAnnotations(annotations)
	return m.builder
}

// Finalizer adds a finalizer.
func (m metadata[B]) Finalizer(name string) B {
	m.object.SetFinalizers(append(m.object.GetFinalizers(), name))
	return m.builder
}

func objectMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// anyJSON converts a value of a test into one of the API. A value without a JSON form is a mistake in the test.
func anyJSON(value any) landscaper.AnyJSON {
	content, err := landscaper.NewAnyJSON(value)
	if err != nil {
		panic(fmt.Sprintf("testkit: %T has no JSON: %v", value, err))
	}
	return content
}

func rawExtension(value any) *runtime.RawExtension {
	content, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("testkit: %T has no JSON: %v", value, err))
	}
	return &runtime.RawExtension{Raw: content}
}
