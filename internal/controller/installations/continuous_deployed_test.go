// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// lookedAfter is a tree of two levels with a ConfigMap that the manifest deployer checks every second.
func (w *world) lookedAfter() *lsv1alpha1.Installation {
	leaf := header + importsPlace + deploy(placed("planted", w.namespace, "continuousReconcile: {every: 1s}"))
	root := header + importsPlace + nest(sub{name: "leaf", blueprint: leaf, target: "place"})
	return w.installation("root", root).Continuous().ImportTarget("place", "place").Build()
}

func (w *world) planted() *corev1.ConfigMap { return w.configMap("planted") }

func (w *world) configMap(name string) *corev1.ConfigMap {
	object := &corev1.ConfigMap{}
	object.Namespace, object.Name = w.namespace, name
	return object
}

// eventuallyTold waits until there is an event about an object whose note contains a text, and checks that it is the only one.
func (w *world) eventuallyTold(object client.Object, reason, note string) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), testkit.Patience)
	defer cancel()
	events, err := w.server.Client().Watch(ctx, &eventsv1.EventList{}, client.InNamespace(w.namespace))
	if err != nil {
		w.Fatal(err)
	}
	defer events.Stop()
	for e := range events.ResultChan() {
		if event, ok := e.Object.(*eventsv1.Event); ok && about(event, object, reason, note) {
			w.toldOnce(object, reason, note)
			return
		}
	}
	w.Errorf("no event %s about %s: %s", reason, object.GetName(), note)
}

func about(event *eventsv1.Event, object client.Object, reason, note string) bool {
	return event.Regarding.UID == object.GetUID() && event.Reason == reason && strings.Contains(event.Note, note)
}

func (w *world) toldOnce(object client.Object, reason, note string) {
	w.Helper()
	var list eventsv1.EventList
	if err := w.cluster.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	told := 0
	for i := range list.Items {
		if e := &list.Items[i]; about(e, object, reason, note) {
			if told++; e.Series != nil {
				told += int(e.Series.Count)
			}
		}
	}
	if told != 1 {
		w.Errorf("%d events %s about %s: %s", told, reason, object.GetName(), note)
	}
}

// Somebody changes or removes a deployed object: the deployer repairs it once and reports that, and nothing else changes.
func TestCON60_DriftOfDeployedObjectsIsRepairedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		disturb func(*world, *corev1.ConfigMap)
		note    string
		changes []testkit.Change
	}{
		"edited": {func(w *world, c *corev1.ConfigMap) { w.patch(c, `{"data":{"word":"trampled"}}`) }, "corrected ConfigMap",
			[]testkit.Change{testkit.Modified, testkit.Modified}},
		"deleted": {func(w *world, c *corev1.ConfigMap) {
			if err := w.cluster.Delete(w.Context(), c); err != nil {
				w.Fatal(err)
			}
		}, "created ConfigMap", []testkit.Change{testkit.Deleted, testkit.Added}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(testkit.Target(w.namespace, "place").Cluster(t, w.server).Build(), w.lookedAfter())
			w.completed("root", lsv1alpha1.PhaseSucceeded)
			recorder := testkit.Record(t, w.server, w.namespace, testkit.Groups(lsv1alpha1.GroupName), testkit.Kinds(&corev1.ConfigMap{}))
			recorder.Quiet(t, looks)
			before, object := recorder.History(), w.planted()
			w.get(object)
			version := object.ResourceVersion
			test.disturb(w, object)
			testkit.Eventually(t, w.server, w.planted(), testkit.Is("as before", func(c *corev1.ConfigMap) bool {
				return c.ResourceVersion != version && c.Data["word"] == "planted"
			}))
			w.eventuallyTold(w.items()["planted"], "Repaired", test.note)
			recorder.Quiet(t, looks)
			w.toldOnce(w.items()["planted"], "Repaired", test.note)
			w.checkRepair(recorder.Since(before), test.changes)
			w.completed("root", lsv1alpha1.PhaseSucceeded)
		})
	}
}

// looks is long enough for two more checks by the deployer, which find nothing to do.
const looks = 2500 * time.Millisecond

// checkRepair checks what was written since a disturbance: the object in its proper state, and nothing above the deploy item.
func (w *world) checkRepair(since testkit.History, want []testkit.Change) {
	w.Helper()
	var changes []testkit.Change
	for _, r := range since {
		switch kind := r.Object.GetKind(); {
		case kind == "ConfigMap" && r.Object.GetName() == "planted":
			changes = append(changes, r.Change)
		case kind == "Installation" || kind == "Execution":
			w.Errorf("%s %s was written", kind, r.Object.GetName())
		case kind == "DeployItem" && r.Field("status.phase") != string(lsv1alpha1.PhaseSucceeded):
			w.Errorf("the deploy item is in phase %s", r.Field("status.phase"))
		}
	}
	if !slices.Equal(changes, want) {
		w.Errorf("the object was %v", changes)
	}
}
