// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// credential is a Secret with the kubeconfig of a cluster.
func (w *world) credential(kubeconfig string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "credential"},
		StringData: map[string]string{"kubeconfig": kubeconfig},
	}
}

// kubeconfig returns the kubeconfig of the test's API server.
func (w *world) kubeconfig() string {
	w.Helper()
	text, err := os.ReadFile(w.server.Kubeconfig())
	if err != nil {
		w.Fatal(err)
	}
	return string(text)
}

// A Target may have its content in a Secret. Every importer of the Target, however deep in the tree, notices when the content changes.
func TestCON21_CON22_ATreeNoticesTheSecretBehindATarget(t *testing.T) {
	w := newWorld(t)
	recorder := w.recorded()
	leaf := header + importsPlace + deploy(placed("planted", w.namespace))
	middle := header + importsPlace + nest(sub{name: "leaf", blueprint: leaf, target: "place"})
	root := header + importsPlace + nest(sub{name: "middle", blueprint: middle, target: "place"}) + deploy(item("top"))
	w.create(w.credential("apiVersion: none"), testkit.Target(w.namespace, "place").Secret("credential", "kubeconfig").Build(),
		w.installation("root", root).Continuous().ImportTarget("place", "place").Build())
	failed := w.completed("root", lsv1alpha1.PhaseFailed)
	recorder.Quiet(t, time.Second)

	replace := func(kubeconfig string) *lsv1alpha1.Installation {
		before := w.named("root")
		w.get(before)
		if err := w.cluster.Update(t.Context(), w.credential(kubeconfig)); err != nil {
			t.Fatal(err)
		}
		return w.eventually("root", "succeeded with other imports", func(i *lsv1alpha1.Installation) bool {
			return i.Status.Phase == lsv1alpha1.PhaseSucceeded && i.Status.ConfigGeneration != before.Status.ConfigGeneration
		})
	}
	// What failed because of wrong content is retried.
	w.gitops(recorder, func() { replace(w.kubeconfig()) }, 1)
	if low := w.items()["planted"]; low.Status.Phase != lsv1alpha1.PhaseSucceeded {
		t.Errorf("the deploy item is in phase %s", low.Status.Phase)
	}
	// Deploy items name a Target and do not contain it, so nothing is redeployed.
	w.gitops(recorder, func() {
		if after := replace(w.kubeconfig() + "\n# rotated\n"); after.Status.ImportsHash == failed.Status.ImportsHash {
			t.Error("the hash of the imports does not cover the Secret")
		}
	}, 0)
	leafNow := w.children(w.children("root")["middle"].Name)["leaf"]
	rootNow := w.named("root")
	if w.get(rootNow); leafNow.Status.ImportsHash != rootNow.Status.ImportsHash || leafNow.Status.Phase != lsv1alpha1.PhaseSucceeded {
		t.Errorf("the lowest installation has not followed: %+v", leafNow.Status.Imports)
	}
}
