// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// What goes well below a root is in the status. What goes wrong is told by those whom it concerns, see the tests of failures.
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
