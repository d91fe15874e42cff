// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

// While the cache does not show yet what an update has written below, the installation neither takes the state of before for the outcome,
// nor takes the spec of before for the present one when the update is taken back.
func TestCON20_CON24_AnUpdateThatTheCacheDoesNotShowYetCounts(t *testing.T) {
	w := idleWorld(t)
	transport := faults.New(faults.Plan{})
	w.run(transport.Config(w.server.Config()))
	recorder := w.recorded()
	first, second := header+deploy(item("only", value("first"))), header+deploy(item("only", value("second")))
	w.create(w.installation("root", first).Continuous().Build())
	w.completed("root", lsv1alpha1.PhaseSucceeded)
	execution := &lsv1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "root"}}
	generation := func(want int64) {
		testkit.Eventually(t, w.server, execution, testkit.Is("updated", func(e *lsv1alpha1.Execution) bool { return e.Generation == want }))
	}

	transport.Hold("executions")
	defer transport.Release("executions")
	w.rewrite("root", second)
	generation(2)
	w.eventually("root", "under way", func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseProgressing })
	w.rewrite("root", first)
	w.eventually("root", "waiting for the first update", func(i *lsv1alpha1.Installation) bool {
		return slices.ContainsFunc(i.Status.Conditions, func(c lsv1alpha1.Condition) bool {
			return strings.Contains(c.Message, "the spec has changed, which has no effect before")
		})
	})

	transport.Release("executions")
	generation(3)
	w.completed("root", lsv1alpha1.PhaseSucceeded)
	if status := string(w.items()["only"].Status.ProviderStatus.Raw); !strings.Contains(status, `"value":"first"`) {
		t.Errorf("deployed is %s", status)
	}
	w.checkContinuous(recorder.History())
}
