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

// While the cache does not show yet what an update has written below, the installation does not take the previous state for the outcome.
// Nor does it take the previous spec for the present one when the update is reverted.
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
			return strings.Contains(c.Message, "the spec has changed, which takes effect afterwards")
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

// A nested installation is notified of new values until it has received them, reads them where they are certain to be visible, and does
// not fall back to those that its cache still shows.
func TestCON20_CON21_CON23_ValuesThatTheCacheDoesNotShowYetCount(t *testing.T) {
	for name, plan := range map[string]string{
		"at once":             "",
		"told late":           "patch/installations:2:409",
		"told after an error": "patch/installations:2:500",
	} {
		t.Run(name, func(t *testing.T) {
			w := idleWorld(t)
			transport := faults.New(faults.MustParse(plan))
			w.run(transport.Config(w.server.Config()))
			recorder := w.recorded()
			leaf := header + imports("base") + deploy(item("only", value("{{ .imports.base }}")))
			tree := header + imports("base") + nest(sub{name: "leaf", blueprint: leaf, imports: map[string]string{"base": "base"}})
			w.create(w.secret("base", "first"), w.installation("root", tree).Continuous().ImportSecret("base", "base", "word").Build())
			before := w.completed("root", lsv1alpha1.PhaseSucceeded)

			transport.Hold("dataobjects")
			defer transport.Release("dataobjects")
			w.gitops(recorder, func() {
				if err := w.cluster.Update(t.Context(), w.secret("base", "second")); err != nil {
					t.Fatal(err)
				}
				w.eventually("root", "updated", func(i *lsv1alpha1.Installation) bool {
					return i.Status.ConfigGeneration != before.Status.ConfigGeneration && i.Status.Phase == lsv1alpha1.PhaseSucceeded
				})
				if status := string(w.items()["only"].Status.ProviderStatus.Raw); !strings.Contains(status, `"value":"second"`) {
					t.Errorf("deployed is %s", status)
				}
			}, 1)
			w.gitops(recorder, func() { transport.Release("dataobjects") }, 0)
			w.checkContinuous(recorder.History())
			struck := transport.Log().Where(func(e faults.Entry) bool { return e.Fault != "" })
			if (plan != "") != (len(struck) == 1) || plan != "" && !strings.HasPrefix(struck[0].Name, "leaf-") {
				t.Errorf("the plan has struck %s", struck)
			}
		})
	}
}

// Failed objects are retried when the root is asked to, even if passing the request on does not succeed at once.
func TestCON21_ARetryIsNotLostWhenItCannotBePassedOnAtOnce(t *testing.T) {
	for name, plan := range map[string]string{"a conflict": "patch/installations:2:409", "an error": "patch/installations:2:500"} {
		t.Run(name, func(t *testing.T) {
			w := idleWorld(t)
			transport := faults.New(faults.MustParse(plan))
			w.run(transport.Config(w.server.Config()))
			recorder := w.recorded()
			w.create(w.installation("root", header+nest(sub{name: "leaf", blueprint: header + deploy(item("only", failing))})).Continuous().Build())
			w.completed("root", lsv1alpha1.PhaseFailed)
			w.gitops(recorder, func() {
				w.operate("root", lsv1alpha1.OperationReconcile)
				w.completed("root", lsv1alpha1.PhaseFailed)
			}, 1)
			struck := transport.Log().Where(func(e faults.Entry) bool { return e.Fault != "" })
			if len(struck) != 1 || !strings.HasPrefix(struck[0].Name, "leaf-") {
				t.Errorf("the plan has struck %s", struck)
			}
		})
	}
}
