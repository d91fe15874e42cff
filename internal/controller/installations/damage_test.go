// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// mar removes something from an object, as a user may do with kubectl.
func (w *world) mar(object client.Object, patch string) {
	w.Helper()
	if err := w.cluster.Patch(w.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		w.Fatal(err)
	}
}

// grownTree is a world with a deployed tree, whose nested installation is "a" and whose job has finished.
func grownTree(t *testing.T) *world { return grownIn(t, lsv1alpha1.FlowJob) }

// grownIn is grownTree in either flow.
func grownIn(t *testing.T, flow lsv1alpha1.Flow) *world {
	w := newWorld(t)
	root := w.installation("root", header+nest(sub{name: "a", blueprint: header + deploy(item("one"))})).Reconcile()
	if flow == lsv1alpha1.FlowContinuous {
		root = root.Continuous()
	}
	w.create(root.Build())
	w.eventually("root", "succeeded", func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseSucceeded })
	return w
}

func (w *world) executionBelow(inst *lsv1alpha1.Installation) *lsv1alpha1.Execution {
	execution := &lsv1alpha1.Execution{}
	execution.Namespace, execution.Name = inst.Namespace, inst.Name
	return execution
}

func held(object client.Object) bool {
	return slices.Contains(object.GetFinalizers(), lsv1alpha1.Finalizer)
}

func TestJOB45_AFinalizerAndALabelThatSomebodyRemovesComeBack(t *testing.T) {
	for _, flow := range []lsv1alpha1.Flow{lsv1alpha1.FlowJob, lsv1alpha1.FlowContinuous} {
		t.Run(string(flow), func(t *testing.T) { finalizersComeBack(t, grownIn(t, flow)) })
	}
}

func finalizersComeBack(t *testing.T, w *world) {
	nested, item := w.nested("root", "a"), w.onlyItem()
	execution := w.executionBelow(nested)
	for _, object := range []client.Object{w.named("root"), nested, execution, item} {
		w.mar(object, `{"metadata":{"finalizers":null}}`)
	}
	w.mar(nested, `{"metadata":{"labels":null}}`)
	for _, inst := range []*lsv1alpha1.Installation{w.named("root"), w.named(nested.Name)} {
		testkit.Eventually(t, w.server, inst, testkit.Is("whole", func(i *lsv1alpha1.Installation) bool {
			return held(i) && (i.Name == "root") == (i.Labels[lsv1alpha1.EncompassedByLabel] == "")
		}))
	}
	testkit.Eventually(t, w.server, execution, testkit.Is("whole", func(e *lsv1alpha1.Execution) bool { return held(e) }))
	testkit.Eventually(t, w.server, item, testkit.Is("whole", func(i *lsv1alpha1.DeployItem) bool { return held(i) }))
}

// Whatever was removed from the objects below, they are not left behind.
func TestJOB45_WhatSomebodyHasMarredIsDeletedWithItsParent(t *testing.T) {
	for name, mar := range map[string]func(*world){
		"a nested installation without its label": func(w *world) {
			w.mar(w.nested("root", "a"), `{"metadata":{"labels":null}}`)
		},
		"an execution without its owner": func(w *world) {
			w.mar(w.executionBelow(w.nested("root", "a")), `{"metadata":{"ownerReferences":null}}`)
		},
		"a deploy item without its labels": func(w *world) { w.mar(w.onlyItem(), `{"metadata":{"labels":null}}`) },
		"a deploy item without its owner":  func(w *world) { w.mar(w.onlyItem(), `{"metadata":{"ownerReferences":null}}`) },
		"a nested installation without its owner": func(w *world) {
			w.mar(w.nested("root", "a"), `{"metadata":{"ownerReferences":null}}`)
		},
		"a nested installation without both":           func(w *world) { w.mar(w.nested("root", "a"), estranged) },
		"an execution without both":                    func(w *world) { w.mar(w.executionBelow(w.nested("root", "a")), estranged) },
		"a deploy item without both":                   func(w *world) { w.mar(w.onlyItem(), estranged) },
		"a nested installation that goes without both": func(w *world) { w.goEstranged(w.nested("root", "a")) },
		"a deploy item that goes without both":         func(w *world) { w.goEstranged(w.onlyItem()) },
	} {
		t.Run(name, func(t *testing.T) {
			w := grownTree(t)
			mar(w)
			w.delete("root")
			testkit.EventuallyGone(t, w.server, w.named("root"))
			if left := w.left(); len(left) > 0 {
				t.Errorf("left are %q", left)
			}
		})
	}
}

// estranged removes everything by which an object names its parent.
const estranged = `{"metadata":{"labels":null,"ownerReferences":null}}`

// goEstranged deletes an object and removes, while it is being deleted, what names its parent.
func (w *world) goEstranged(object client.Object) {
	w.Helper()
	if err := w.cluster.Delete(w.Context(), object); err != nil {
		w.Fatal(err)
	}
	w.mar(object, estranged)
}

// Without its label and its owner, a nested installation would be a root. The status of its parent proves otherwise.
func TestJOB45_CON44_ANestedInstallationIsNotEstrangedFromItsParent(t *testing.T) {
	for _, flow := range []lsv1alpha1.Flow{lsv1alpha1.FlowJob, lsv1alpha1.FlowContinuous} {
		t.Run(string(flow), func(t *testing.T) {
			w := grownIn(t, flow)
			nested := w.nested("root", "a")
			w.mar(nested, estranged)
			w.eventually(nested.Name, "nested again", func(i *lsv1alpha1.Installation) bool {
				return i.Labels[lsv1alpha1.EncompassedByLabel] == "root"
			})
			w.mar(w.onlyItem(), estranged)
			w.delete("root")
			testkit.EventuallyGone(t, w.server, w.named("root"))
			if left := w.left(); len(left) > 0 {
				t.Errorf("left are %q", left)
			}
		})
	}
}

// What somebody removes during a job does not stop the job, and nothing is left behind.
func TestJOB20_JOB45_DamageDuringAJobIsOvercome(t *testing.T) {
	const unheld = `{"metadata":{"finalizers":null}}`
	below := func(w *world) []client.Object {
		nested := w.nested("root", "a")
		return []client.Object{nested, w.executionBelow(nested), w.onlyItem()}
	}
	for name, mar := range map[string]func(*world){
		"no finalizers": func(w *world) {
			for _, object := range append(below(w), w.named("root")) {
				w.mar(object, unheld)
				testkit.Eventually(w.T, w.server, object, testkit.Is("held again", held))
			}
		},
		"no owners": func(w *world) {
			for _, object := range below(w) {
				w.mar(object, `{"metadata":{"ownerReferences":null}}`)
			}
		},
		"no labels and owners": func(w *world) {
			for _, object := range below(w) {
				w.mar(object, estranged)
			}
		},
		"a context Target without labels and owner": func(w *world) {
			copied := w.contextTarget("root")
			w.mar(copied, estranged)
			testkit.Eventually(w.T, w.server, copied, testkit.Is("whole again", func(o *lsv1alpha1.Target) bool {
				return o.Labels[lsv1alpha1.DataObjectSourceLabel] == "Inst.root" && len(o.OwnerReferences) == 1
			}))
		},
		"no context Target": func(w *world) {
			lose(w, w.contextTarget("root"), func(a, b *lsv1alpha1.Target) bool { return reflect.DeepEqual(a.Spec, b.Spec) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(
				testkit.Target(w.namespace, "here").Config(map[string]any{"kubeconfig": "a"}).Build(),
				w.installation("root", header+importsCluster+nest(sub{name: "a", blueprint: header + deploy(untouchable)})).
					ImportTarget("cluster", "here").Reconcile().Build(),
			)
			w.executing(w.nested("root", "a").Name)
			w.itemWaits(lsv1alpha1.PhaseProgressing)
			mar(w)
			w.create(testkit.Target(w.namespace, "nowhere").Build())
			w.finished("root", lsv1alpha1.PhaseSucceeded)
			w.delete("root")
			testkit.EventuallyGone(t, w.server, w.named("root"))
			if left := w.left(); !slices.Equal(left, []string{"Target/here", "Target/nowhere"}) {
				t.Errorf("left are %q", left)
			}
		})
	}
}

// The next job restores owners.
func TestJOB20_AJobRestoresTheOwnersOfThoseBelow(t *testing.T) {
	w := grownTree(t)
	nested := w.nested("root", "a")
	execution := w.executionBelow(nested)
	w.mar(nested, `{"metadata":{"ownerReferences":null}}`)
	w.mar(execution, `{"metadata":{"ownerReferences":null}}`)
	w.request("root")
	w.finished("root", lsv1alpha1.PhaseSucceeded)
	for _, object := range []client.Object{nested, execution} {
		if !w.get(object) || len(object.GetOwnerReferences()) != 1 {
			t.Errorf("owners of %s: %+v", object.GetName(), object.GetOwnerReferences())
		}
	}
}

const importsCluster = "imports:\n- name: cluster\n  type: target\n  targetType: landscaper.gardener.cloud/kubernetes-cluster\n"

// contextTarget returns the copy of a Target in the context that an installation opens.
func (w *world) contextTarget(of string) *lsv1alpha1.Target {
	w.Helper()
	var list lsv1alpha1.TargetList
	err := w.cluster.List(
		w.Context(),
		&list,
		client.InNamespace(w.namespace),
		client.MatchingLabels{lsv1alpha1.DataObjectSourceLabel: "Inst." + of},
	)
	if err != nil || len(list.Items) != 1 {
		w.Fatalf("Targets %q, %v", namesIn(&list), err)
	}
	return &list.Items[0]
}

// lose deletes an object and waits until a new one exists with the same name, content and job.
func lose[T client.Object](w *world, object T, same func(before, after T) bool) {
	w.Helper()
	if err := w.cluster.Delete(w.Context(), object); err != nil {
		w.Fatal(err)
	}
	testkit.Eventually(w.T, w.server, object, func(o T) error {
		const job = lsv1alpha1.DataObjectJobIDLabel
		if o.GetUID() == object.GetUID() || o.GetLabels()[job] != object.GetLabels()[job] || !same(object, o) {
			return errors.New("it is not there again")
		}
		return nil
	})
}

// A context object does not belong to the user. If somebody deletes it, it is restored without a job, as the last job or update created
// it.
func TestJOB10_CON14_AContextObjectThatSomebodyDeletesIsRestored(t *testing.T) {
	for _, flow := range []lsv1alpha1.Flow{lsv1alpha1.FlowJob, lsv1alpha1.FlowContinuous} {
		t.Run(string(flow), func(t *testing.T) {
			w := newWorld(t)
			root := w.installation("root", header+importsCluster+deploy(item("one"))+exports("color: green", "color")).
				ImportTarget("cluster", "here").ExportData("color", "color").Reconcile()
			if flow == lsv1alpha1.FlowContinuous {
				root = root.Continuous()
			}
			here := testkit.Target(w.namespace, "here").Config(map[string]any{"kubeconfig": "a"}).Build()
			w.create(here, root.Build())
			before := w.eventually(
				"root",
				"succeeded",
				func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseSucceeded },
			)
			copied := w.contextTarget("root")
			lose(w, copied, func(a, b *lsv1alpha1.Target) bool { return reflect.DeepEqual(a.Spec, b.Spec) })
			w.eventuallyTold(before, "Restored", "Target "+copied.Name+" was deleted")
			exported := testkit.DataObject(w.namespace, "color", nil).Build()
			w.get(exported)
			lose(w, exported, func(a, b *lsv1alpha1.DataObject) bool { return string(a.Data.Raw) == string(b.Data.Raw) })
			if after := w.eventually("root", "succeeded", func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseSucceeded }); after.Status.JobID != before.Status.JobID {
				t.Error("there was another job")
			}
			if flow == lsv1alpha1.FlowJob {
				w.toldIfLost(before, here)
			}
		})
	}
}

// withContext is a world with a deployed root that imports a Target and a list of Targets, and exports data.
func withContext(t *testing.T, flow lsv1alpha1.Flow) (w *world, stop func(), root *lsv1alpha1.Installation) {
	w = idleWorld(t)
	stop = w.Manage()
	const list = "- name: all\n  type: targetList\n  targetType: landscaper.gardener.cloud/kubernetes-cluster\n"
	builder := w.installation("root", header+importsCluster+list+deploy(item("one"))+exports("color: green", "color")).
		ImportTarget("cluster", "here").ImportTargets("all", "here").ExportData("color", "color").Reconcile()
	if flow == lsv1alpha1.FlowContinuous {
		builder = builder.Continuous()
	}
	w.create(testkit.Target(w.namespace, "here").Config(map[string]any{"kubeconfig": "a"}).Build(), builder.Build())
	root = w.eventually("root", "succeeded", func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseSucceeded })
	return w, stop, root
}

// written returns what the root of withContext has written.
func (w *world) written() []client.Object {
	w.Helper()
	var targets lsv1alpha1.TargetList
	if err := w.cluster.List(w.Context(), &targets, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	color := testkit.DataObject(w.namespace, "color", nil).Build()
	w.get(color)
	objects := []client.Object{color}
	for i := range targets.Items {
		if targets.Items[i].Name != "here" {
			objects = append(objects, &targets.Items[i])
		}
	}
	if len(objects) != 3 {
		w.Fatalf("it has written %d objects", len(objects))
	}
	return objects
}

// A context object that has lost its labels or its owner would neither be found nor deleted with the installation.
func TestJOB45_CON14_LabelsAndOwnersOfContextObjectsComeBack(t *testing.T) {
	for _, flow := range []lsv1alpha1.Flow{lsv1alpha1.FlowJob, lsv1alpha1.FlowContinuous} {
		for what, patch := range map[string]string{
			"both": estranged, "labels": `{"metadata":{"labels":null}}`, "owner": `{"metadata":{"ownerReferences":null}}`,
		} {
			t.Run(string(flow)+" "+what, func(t *testing.T) {
				w, _, root := withContext(t, flow)
				for _, object := range w.written() {
					before := object.DeepCopyObject().(client.Object)
					w.mar(object, patch)
					testkit.Eventually(t, w.server, object, testkit.Is("whole", func(o client.Object) bool {
						return maps.Equal(o.GetLabels(), before.GetLabels()) && reflect.DeepEqual(o.GetOwnerReferences(), before.GetOwnerReferences())
					}))
					if _, exported := object.(*lsv1alpha1.DataObject); exported && flow == lsv1alpha1.FlowContinuous {
						continue // An update of the continuous flow writes its exports.
					}
					w.eventuallyTold(root, "Restored", before.GetName()+" was deleted or has lost its labels or its owner")
				}
				if job := w.named("root"); !w.get(job) || job.Status.JobID != root.Status.JobID {
					t.Errorf("there was another job: %s", job.Status.JobID)
				}
			})
		}
	}
}

// If no controller runs while it loses them, it still goes with the installation. What a user has created under that name stays.
func TestJOB45_ContextObjectsWithoutLabelAndOwnerAreDeleted(t *testing.T) {
	w, stop, _ := withContext(t, lsv1alpha1.FlowJob)
	stop()
	for _, object := range w.written() {
		w.mar(object, estranged)
	}
	w.change("root", func(s *lsv1alpha1.InstallationSpec) {
		s.Exports.Data = append(s.Exports.Data, lsv1alpha1.DataExport{Name: "other", DataRef: "mine"})
	})
	w.create(testkit.DataObject(w.namespace, "mine", "blue").Build())
	w.delete("root")
	w.Manage()
	testkit.EventuallyGone(t, w.server, w.named("root"))
	if left := w.left(); !slices.Equal(left, []string{"DataObject/mine", "Target/here"}) {
		t.Errorf("left are %q", left)
	}
}

// An object that the installation itself deletes because it is no longer wanted does not count as deleted by a user.
func TestJOB10_ADeletedLeftoverIsNotRestored(t *testing.T) {
	w := newWorld(t)
	const second = "- name: second\n  type: target\n  targetType: landscaper.gardener.cloud/kubernetes-cluster\n"
	w.create(
		testkit.Target(w.namespace, "here").Config(map[string]any{"kubeconfig": "a"}).Build(),
		testkit.Target(w.namespace, "there").Config(map[string]any{"kubeconfig": "b"}).Build(),
		w.installation("root", header+importsCluster+second+deploy(item("one"))).
			ImportTarget("cluster", "here").ImportTarget("second", "there").Reconcile().Build(),
	)
	first := w.finished("root", lsv1alpha1.PhaseSucceeded)
	w.change("root", func(s *lsv1alpha1.InstallationSpec) {
		s.Blueprint = w.installation("root", header+importsCluster+deploy(item("one"))).Build().Spec.Blueprint
		s.Imports.Targets = s.Imports.Targets[:1]
	})
	w.request("root")
	root := w.finishedAfter("root", first.Status.JobID)
	kept := w.contextTarget("root")
	lose(w, kept, func(a, b *lsv1alpha1.Target) bool { return reflect.DeepEqual(a.Spec, b.Spec) })
	w.eventuallyTold(root, "Restored", "Target "+kept.Name+" was deleted")
	var events eventsv1.EventList
	if err := w.cluster.List(w.Context(), &events, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range events.Items {
		if e := &events.Items[i]; about(e, root, "Restored", "") && !strings.Contains(e.Note, kept.Name) {
			t.Errorf("told of what nobody has deleted: %s", e.Note)
		}
	}
}

// toldIfLost checks that nothing is restored that the last job did not create, and that the next job creates it.
func (w *world) toldIfLost(root *lsv1alpha1.Installation, imported *lsv1alpha1.Target) {
	w.Helper()
	w.patch(imported, `{"spec":{"config":{"kubeconfig":"b"}}}`)
	copied := w.contextTarget(root.Name)
	if err := w.cluster.Delete(w.Context(), copied); err != nil {
		w.Fatal(err)
	}
	w.eventuallyTold(root, "NotRestored", "Target "+copied.Name+" was deleted")
	if w.get(copied) {
		w.Error("it is there again, with another content")
	}
	w.request(root.Name)
	testkit.Eventually(w.T, w.server, copied, testkit.Is("there again", func(o *lsv1alpha1.Target) bool { return o.UID != copied.UID }))
}
