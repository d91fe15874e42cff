// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
)

// A root keeps each spec that it processes, in either flow, with the outcome. Nested installations keep none.
func TestJOB20_JOB27_CON23_ARootKeepsTheSpecsOfItsRuns(t *testing.T) {
	for _, flow := range []lsv1alpha1.Flow{lsv1alpha1.FlowJob, lsv1alpha1.FlowContinuous} {
		t.Run(string(flow), func(t *testing.T) {
			w := newWorld(t)
			steps := []struct {
				word, setting string
				phase         lsv1alpha1.Phase
			}{
				{"first", "", lsv1alpha1.PhaseSucceeded}, {"second", failing, lsv1alpha1.PhaseFailed}, {"third", "", lsv1alpha1.PhaseSucceeded},
			}
			for i, step := range steps {
				settings := []string{value(step.word)}
				if step.setting != "" {
					settings = append(settings, step.setting)
				}
				wanted := w.installation("app", header+nest(sub{name: "leaf", blueprint: header + deploy(item("one", settings...))})).Build()
				wanted.Spec.Flow = flow
				if i == 0 {
					w.create(wanted)
				} else {
					w.change("app", func(spec *lsv1alpha1.InstallationSpec) { *spec = wanted.Spec })
				}
				if flow == lsv1alpha1.FlowJob {
					w.request("app")
				}
				w.eventually("app", fmt.Sprintf("%s in revision %d", step.phase, i+1), func(inst *lsv1alpha1.Installation) bool {
					history := inst.Status.History
					return len(history) == i+1 && history[0].Revision == int64(i+1) && history[0].Result == step.phase && history[0].EndTime != nil
				})
			}
			root := w.named("app")
			w.get(root)
			var told []string
			for i, r := range root.Status.History {
				text, err := installation.KeptSpec(r)
				if err != nil {
					t.Fatal(err)
				}
				if word := steps[len(steps)-1-i].word; !strings.Contains(string(text), word) {
					t.Errorf("revision %d does not contain %q: %s", r.Revision, word, text)
				}
				told = append(told, fmt.Sprintf("%d %s %t %t", r.Revision, r.Result, r.JobID != "", r.SucceededTime != nil))
			}
			jobs := flow == lsv1alpha1.FlowJob
			want := []string{fmt.Sprintf("3 Succeeded %t true", jobs), fmt.Sprintf("2 Failed %t false", jobs), fmt.Sprintf("1 Succeeded %t true", jobs)}
			if diff := cmp.Diff(want, told); diff != "" {
				t.Errorf("the history (-want +got):\n%s", diff)
			}
			var newest lsv1alpha1.InstallationSpec
			text, _ := installation.KeptSpec(root.Status.History[0])
			if err := json.Unmarshal(text, &newest); err != nil || installation.SpecHash(newest) != installation.SpecHash(root.Spec) {
				t.Errorf("the newest revision is not the present spec: %v, %s", err, text)
			}
			var nested lsv1alpha1.InstallationList
			below := []client.ListOption{client.InNamespace(w.namespace), client.HasLabels{lsv1alpha1.EncompassedByLabel}}
			if err := w.cluster.List(w.Context(), &nested, below...); err != nil {
				t.Fatal(err)
			}
			var revisions []int
			for _, inst := range nested.Items {
				revisions = append(revisions, len(inst.Status.History))
			}
			if diff := cmp.Diff([]int{0}, revisions); diff != "" {
				t.Errorf("revisions of nested installations (-want +got):\n%s", diff)
			}
		})
	}
}
