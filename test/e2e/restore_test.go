// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// backup returns the objects of the namespace that docs/how-to/restore.md copies, in its order.
func (w *world) backup() []unstructured.Unstructured {
	w.Helper()
	kinds := []schema.GroupVersionKind{{Version: "v1", Kind: "Secret"}}
	for _, kind := range []string{"Context", "Target", "DataObject", "Installation", "Execution", "DeployItem"} {
		kinds = append(kinds, lsv1alpha1.SchemeGroupVersion.WithKind(kind))
	}
	var all []unstructured.Unstructured
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := w.Client().List(w.Context(), list, client.InNamespace(w.Namespace)); err != nil {
			w.Fatal(err)
		}
		all = append(all, list.Items...)
	}
	return all
}

// lose deletes objects as if the cluster was gone: nothing is uninstalled.
func (w *world) lose(objects []unstructured.Unstructured) {
	w.Helper()
	for _, object := range objects {
		lost := object.DeepCopy()
		w.Patch(lost, `{"metadata":{"finalizers":null}}`)
		w.Delete(lost)
	}
}

// restore creates objects again, with their status and without what belongs to the old cluster.
func (w *world) restore(objects []unstructured.Unstructured) {
	w.Helper()
	for _, object := range objects {
		for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "ownerReferences"} {
			unstructured.RemoveNestedField(object.Object, "metadata", field)
		}
		created := object.DeepCopy()
		w.Create(created)
		if object.Object["status"] == nil {
			continue
		}
		object.SetResourceVersion(created.GetResourceVersion())
		if err := w.Client().Status().Update(w.Context(), &object); err != nil {
			w.Fatal(err)
		}
	}
}

// After a restore, what was deployed is not deployed again, and the next job changes and removes it as if nothing had happened.
func TestARestoreDeploysNothingTwice(t *testing.T) {
	w := idleWorld(t)
	stop := w.Manage()
	w.apply("manifests.yaml")
	before := w.finished("app", lsv1alpha1.PhaseSucceeded)
	stop()
	stays, goes := w.configMap("stays"), w.configMap("goes")
	if !w.Read(stays) || !w.Read(goes) {
		t.Fatal("nothing is deployed")
	}

	objects := w.backup()
	w.lose(objects)
	w.restore(objects)
	recorder := w.record()
	w.run()
	recorder.Quiet(t, time.Second)
	restarted := recorder.History().Where(func(r testkit.Revision) bool {
		kinds := []string{"Installation", "Execution", "DeployItem"}
		return slices.Contains(kinds, r.Object.GetKind()) && (r.Field("status.jobID") != before.Status.JobID || r.Field("status.phase") != "Succeeded")
	})
	if len(restarted) > 0 {
		t.Errorf("the restored objects began something:\n%s", restarted)
	}
	for _, object := range []client.Object{stays, goes} {
		if now := w.configMap(object.GetName()); !w.Read(now) || now.ResourceVersion != object.GetResourceVersion() {
			t.Errorf("%s was deployed again", object.GetName())
		}
	}

	w.apply("manifests-upgraded.yaml")
	w.nextJob("app", before.Status.JobID)
	w.wantDeployed("comes", "stays")
	if now := w.configMap("stays"); !w.Read(now) || now.UID != stays.UID || now.Data["version"] != "2" {
		t.Errorf("the object that stays is %v", now.Data)
	}
	w.wantNothingLeft("app")
}
