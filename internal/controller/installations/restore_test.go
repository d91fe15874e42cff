// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// stored returns all objects of the namespace that a restore creates, those without a status first.
func (w *world) stored() []client.Object {
	w.Helper()
	var all []client.Object
	for _, list := range []client.ObjectList{
		&corev1.SecretList{}, &lsv1alpha1.ContextList{}, &lsv1alpha1.TargetList{}, &lsv1alpha1.DataObjectList{},
		&lsv1alpha1.InstallationList{}, &lsv1alpha1.ExecutionList{}, &lsv1alpha1.DeployItemList{},
	} {
		if err := w.cluster.List(w.Context(), list, client.InNamespace(w.namespace)); err != nil {
			w.Fatal(err)
		}
		objects, err := meta.ExtractList(list)
		if err != nil {
			w.Fatal(err)
		}
		for _, object := range objects {
			all = append(all, object.(client.Object))
		}
	}
	return all
}

// restore replaces all objects by new ones as docs/how-to/restore.md does it: with their status, without what belongs to the old cluster.
func (w *world) restore() {
	w.Helper()
	all := w.stored()
	for _, object := range all {
		w.patch(object.DeepCopyObject().(client.Object), `{"metadata":{"finalizers":null}}`)
		if err := w.cluster.Delete(w.Context(), object.DeepCopyObject().(client.Object)); err != nil {
			w.Fatal(err)
		}
	}
	for _, object := range all {
		object.SetUID("")
		object.SetResourceVersion("")
		object.SetGeneration(0)
		object.SetCreationTimestamp(metav1.Time{})
		object.SetManagedFields(nil)
		object.SetOwnerReferences(nil)
		restored := object.DeepCopyObject().(client.Object)
		w.create(restored)
		if status := reflect.ValueOf(object).Elem().FieldByName("Status"); !status.IsValid() || status.IsZero() {
			continue
		}
		object.SetResourceVersion(restored.GetResourceVersion())
		if err := w.cluster.Status().Update(w.Context(), object); err != nil {
			w.Fatal(err)
		}
	}
}

// belowRoot is what an installation tree consists of, besides its root.
func (w *world) belowRoot() (all []client.Object) {
	w.Helper()
	for _, object := range w.stored() {
		switch object.(type) {
		case *lsv1alpha1.Installation, *lsv1alpha1.Execution, *lsv1alpha1.DeployItem:
			if object.GetName() != "root" || reflect.TypeOf(object) != reflect.TypeFor[*lsv1alpha1.Installation]() {
				all = append(all, object)
			}
		}
	}
	return all
}

// owned waits until each object has the owner that it was created with: one of the given objects or the root.
func (w *world) owned(objects []client.Object) {
	w.Helper()
	for _, object := range objects {
		testkit.Eventually(w.T, w.server, object, func(o client.Object) error {
			owner := metav1.GetControllerOf(o)
			if owner == nil || owner.BlockOwnerDeletion == nil {
				return fmt.Errorf("%T %s has no owner: %+v", o, o.GetName(), o.GetOwnerReferences())
			}
			above := map[string]client.Object{"Installation": &lsv1alpha1.Installation{}, "Execution": &lsv1alpha1.Execution{}}[owner.Kind]
			key := client.ObjectKey{Namespace: w.namespace, Name: owner.Name}
			if err := w.cluster.Get(w.Context(), key, above); err != nil || above.GetUID() != owner.UID {
				return fmt.Errorf("%T %s is owned by %+v, %w", o, o.GetName(), owner, err)
			}
			return nil
		})
	}
}

// After a restore object by object, what is below an installation has no owners. In the continuous flow, they come back by themselves, in
// the job flow with the next job. Nothing is deployed because of it.
func TestJOB20_CON14_OwnersComeBackAfterARestore(t *testing.T) {
	for _, flow := range []lsv1alpha1.Flow{lsv1alpha1.FlowJob, lsv1alpha1.FlowContinuous} {
		t.Run(string(flow), func(t *testing.T) {
			w := idleWorld(t)
			stop := w.run(w.server.Config())
			root := w.installation("root", imports("base")+threeLevels(value("1"))).ImportData("base", "base").Reconcile()
			if flow == lsv1alpha1.FlowContinuous {
				root = root.Continuous()
			}
			w.create(testkit.DataObject(w.namespace, "base", "x").Build(), root.Build())
			succeeded := func(i *lsv1alpha1.Installation) bool {
				return i.Status.Phase == lsv1alpha1.PhaseSucceeded && i.Annotations[lsv1alpha1.OperationAnnotation] == ""
			}
			w.eventually("root", "succeeded", succeeded)
			stop()
			w.restore()
			below := w.belowRoot()
			if len(below) != 8 {
				t.Fatalf("%d objects below the root", len(below))
			}
			recorder := w.recorded()
			w.run(w.server.Config())
			if flow == lsv1alpha1.FlowContinuous {
				w.owned(below)
				recorder.Quiet(t, time.Second)
				if begun, _ := deployments(recorder.History()); begun != 0 {
					t.Errorf("%d deployments", begun)
				}
				return
			}
			before := w.eventually("root", "restored", succeeded)
			w.request("root")
			w.finishedAfter("root", before.Status.JobID)
			w.owned(below)
		})
	}
}

// Owners and labels that another client removes from a tree of the continuous flow come back at once, on each level.
func TestCON14_OwnersAndLabelsThatSomebodyRemovesComeBack(t *testing.T) {
	for name, patch := range map[string]string{
		"owners": `{"metadata":{"ownerReferences":null}}`,
		"labels": `{"metadata":{"labels":null}}`,
		"both":   estranged,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			recorder := w.recorded()
			w.create(w.installation("root", threeLevels(failing)).Continuous().Build())
			w.completed("root", lsv1alpha1.PhaseFailed)
			recorder.Quiet(t, time.Second)
			w.gitops(recorder, func() {
				for _, object := range w.belowRoot() {
					labels := object.GetLabels()
					w.patch(object, patch)
					w.owned([]client.Object{object})
					testkit.Eventually(t, w.server, object, testkit.Is("labelled", func(o client.Object) bool {
						return reflect.DeepEqual(o.GetLabels(), labels)
					}))
				}
			}, 0)
			w.completed("root", lsv1alpha1.PhaseFailed)
		})
	}
}
