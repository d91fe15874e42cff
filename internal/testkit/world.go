// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// World is one test's namespace of an API server. A package whose tests need more embeds it in its own world, and adds methods. The methods
// fail the test if the server rejects a request.
type World struct {
	*testing.T
	*APIServer
	Namespace string
}

// NewWorld returns a world on the server that all tests of the process share.
func NewWorld(t *testing.T) *World {
	t.Helper()
	return WorldOn(t, Server(t))
}

// WorldOn returns a world on the given server.
func WorldOn(t *testing.T, server *APIServer) *World {
	t.Helper()
	return &World{T: t, APIServer: server, Namespace: server.Namespace(t)}
}

// Create stores objects in the given order. It updates them to what the server returned.
func (w *World) Create(objects ...client.Object) {
	w.Helper()
	Create(w.T, w.APIServer, objects...)
}

// Read reads an object again, and reports whether it exists.
func (w *World) Read(object client.Object) bool {
	w.Helper()
	err := w.Client().Get(w.Context(), client.ObjectKeyFromObject(object), object)
	if client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	return err == nil
}

// Patch changes an object with a merge patch.
func (w *World) Patch(object client.Object, patch string) {
	w.Helper()
	if err := w.Client().Patch(w.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.Fatal(err)
	}
}

// PatchStatus changes the status of an object with a merge patch.
func (w *World) PatchStatus(object client.Object, patch string) {
	w.Helper()
	if err := w.Client().Status().Patch(w.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.Fatal(err)
	}
}

// Annotate sets an annotation.
func (w *World) Annotate(object client.Object, annotation, value string) {
	w.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{annotation: value}}})
	if err != nil {
		w.Fatal(err)
	}
	w.Patch(object, string(patch))
}

// SetStatus changes fields of a status and leaves the others.
func (w *World) SetStatus(object client.Object, fields map[string]any) {
	w.Helper()
	patch, err := json.Marshal(map[string]any{"status": fields})
	if err != nil {
		w.Fatal(err)
	}
	w.PatchStatus(object, string(patch))
}

// Delete requests the deletion of an object.
func (w *World) Delete(object client.Object) {
	w.Helper()
	if err := w.Client().Delete(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}
