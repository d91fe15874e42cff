// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

// The controller does not request what the caches know for certain, and does not delete what was never written. It asks once whether
// nothing is left below.
func TestADeletionCostsNoMoreThanItNeeds(t *testing.T) {
	w := idleWorld(t)
	transport := faults.New(faults.Plan{})
	w.run(transport.Config(w.server.Config()))
	blueprint := header + imports("word") + deploy(item("one"))
	w.create(
		testkit.DataObject(w.namespace, "word", "x").Build(),
		w.installation("plain", header+deploy(item("one"))).Reconcile().Build(),
		w.installation("fed", blueprint).ImportData("word", "word").Reconcile().Build(),
		w.installation("steady", blueprint).ImportData("word", "word").Continuous().Build(),
	)
	for _, name := range []string{"plain", "fed", "steady"} {
		w.eventually(name, "installed", func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseSucceeded })
	}
	for name, collections := range map[string]int{"plain": 0, "fed": 1, "steady": 1} {
		before := len(transport.Log())
		w.delete(name)
		testkit.EventuallyGone(t, w.server, w.named(name))
		log := transport.Log()[before:]
		if conflicts := log.Where(func(e faults.Entry) bool { return e.Status == http.StatusConflict }); len(conflicts) > 0 {
			t.Logf("%s: somebody else was faster, so passes were repeated:\n%s", name, conflicts)
			continue
		}
		for pattern, want := range map[string]int{
			"list/deployitems":             1,
			"get/deployitems":              0,
			"deletecollection/dataobjects": collections,
			"deletecollection/targets":     0,
		} {
			found, err := log.Matching(pattern)
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != want {
				t.Errorf("%s: %d requests %s, want %d:\n%s", name, len(found), pattern, want, log)
			}
		}
	}
}

// Success below a root is in the status only. The tests of failures cover who reports what goes wrong.
func TestSuccessIsAnEventOfTheRootAlone(t *testing.T) {
	w := newWorld(t)
	w.create(w.installation("root", header+nest(sub{name: "a", blueprint: header + deploy(item("one"))})).Reconcile().Build())
	root := w.finished("root", lsv1alpha1.PhaseSucceeded)
	w.eventuallyTold(root, string(lsv1alpha1.PhaseSucceeded), "everything is installed")
	var events eventsv1.EventList
	if err := w.cluster.List(t.Context(), &events, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	for _, event := range events.Items {
		if event.Regarding.UID != root.UID && event.Type == corev1.EventTypeNormal {
			t.Errorf("%s %s: %s %s", event.Regarding.Kind, event.Regarding.Name, event.Reason, event.Note)
		}
	}
}
