// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// World is a namespace of an API server, in the hands of one test. A package whose tests need more embeds it in a world of its own, and
// adds its words. The methods fail the test if the server refuses.
type World struct {
	*testing.T
	*APIServer
	Namespace string
}

// NewWorld is a world on the server that all tests of the process share.
func NewWorld(t *testing.T) *World {
	t.Helper()
	return WorldOn(t, Server(t))
}

// WorldOn is a world on a server of the test's choice.
func WorldOn(t *testing.T, server *APIServer) *World {
	t.Helper()
	return &World{T: t, APIServer: server, Namespace: server.Namespace(t)}
}

// Create stores objects in the given order. Afterwards they are as the server returned them.
func (w *World) Create(objects ...client.Object) {
	w.Helper()
	Create(w.T, w.APIServer, objects...)
}

// Read reads an object anew, and reports whether there is one.
func (w *World) Read(object client.Object) bool {
	w.Helper()
	err := w.Client().Get(w.Context(), client.ObjectKeyFromObject(object), object)
	if client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	return err == nil
}

// Patch changes an object by a merge patch.
func (w *World) Patch(object client.Object, patch string) {
	w.Helper()
	if err := w.Client().Patch(w.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.Fatal(err)
	}
}

// PatchStatus changes the status of an object by a merge patch.
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

// Delete asks for an object to be deleted.
func (w *World) Delete(object client.Object) {
	w.Helper()
	if err := w.Client().Delete(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}
