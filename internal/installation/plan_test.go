// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/run"
)

// A crash after any write of the continuous flow leaves children that can finish: a nested installation whose imports were not written yet
// would wait for its parent, and the parent for it.
func TestWhatIsImportedIsWrittenFirst(t *testing.T) {
	sub := func(name string, imports, exports string) installation.SubWrite {
		object := &lsv1alpha1.Installation{}
		object.Namespace, object.Name, object.Labels = "garden", name, map[string]string{lsv1alpha1.EncompassedByLabel: "root"}
		if imports != "" {
			object.Spec.Imports.Data = []lsv1alpha1.DataImport{{Name: imports, DataRef: imports}}
		}
		if exports != "" {
			object.Spec.Exports.Data = []lsv1alpha1.DataExport{{Name: exports, DataRef: exports}}
		}
		return installation.SubWrite{Name: name, Wanted: object}
	}
	target := &lsv1alpha1.Target{}
	target.Name = "target"
	plan := &installation.Plan{
		States:  []installation.StateWrite{{Name: "state"}},
		Context: installation.ContextWrites{Targets: []installation.TargetWrite{{Wanted: target}}},
		Subs: []installation.SubWrite{
			sub(
				"fruit",
				"flower",
				"",
			), sub("flower", "root", "flower"), sub("root", "", "root"), sub("egg", "hen", "egg"), sub("hen", "egg", "hen"),
		},
		Execution: &installation.ExecutionWrite{Wanted: &lsv1alpha1.Execution{}},
	}
	for flow, want := range map[lsv1alpha1.Flow][][]string{
		lsv1alpha1.FlowContinuous: {{"state"}, {"target"}, {"root"}, {"flower"}, {"fruit"}, {"egg", "hen"}, {"execution"}},
		// The job flow continues after a crash, whatever its children do.
		lsv1alpha1.FlowJob: {{"state"}, {"target", "fruit", "flower", "root", "egg", "hen", "execution"}},
	} {
		plan.Run = dataflow.Run{Flow: flow}
		if diff := cmp.Diff(want, stagesOf(plan)); diff != "" {
			t.Errorf("stages of flow %s (-want +got):\n%s", flow, diff)
		}
	}
}

func stagesOf(plan *installation.Plan) [][]string {
	var all [][]string
	for _, stage := range plan.Stages() {
		var names []string
		for _, state := range stage.States {
			names = append(names, state.Name)
		}
		for _, target := range stage.Context.Targets {
			names = append(names, target.Wanted.Name)
		}
		for _, sub := range stage.Subs {
			names = append(names, sub.Name)
		}
		if stage.Execution != nil {
			names = append(names, "execution")
		}
		all = append(all, names)
	}
	return all
}

// The blueprint and its imports are read when a decision depends on them, and not before: that costs requests.
func TestCostlyFactsAreReadWhenTheyAreNeeded(t *testing.T) {
	job := run.Job{ID: "job", FinishedID: "before"}
	at := func(phase lsv1alpha1.Phase, change ...func(*installation.Observed)) installation.Observed {
		o := installation.Observed{Name: "root", Root: true, Phase: phase, Job: job, Finalizer: true}
		for _, c := range change {
			c(&o)
		}
		return o
	}
	waiting := func(o *installation.Observed) {
		o.Predecessors = []installation.Sibling{{Name: "other", Phase: lsv1alpha1.PhaseProgressing, Job: job}}
	}
	for name, c := range map[string]struct {
		observed installation.Observed
		need     installation.Need
	}{
		"nothing to do":                {at(lsv1alpha1.PhaseSucceeded, func(o *installation.Observed) { o.Job = run.Job{ID: "job", FinishedID: "job"} }), ""},
		"waiting for a predecessor":    {at(lsv1alpha1.PhaseInit, waiting), ""},
		"about to prepare":             {at(lsv1alpha1.PhaseInit), installation.NeedPlan},
		"about to prepare with a plan": {at(lsv1alpha1.PhaseInit, func(o *installation.Observed) { o.Plan = &installation.Plan{} }), ""},
		"interrupted":                  {at(lsv1alpha1.PhaseInit, func(o *installation.Observed) { o.Interrupt = true }), ""},
		"about to export":              {at(lsv1alpha1.PhaseCompleting), installation.NeedExports},
		"changed before it exports":    {at(lsv1alpha1.PhaseCompleting, func(o *installation.Observed) { o.Changed = true }), ""},
		"something was deleted": {
			at(lsv1alpha1.PhaseProgressing, func(o *installation.Observed) { o.Lost = []dataflow.ObjectID{{Name: "x"}} }),
			installation.NeedRestored,
		},
	} {
		if need := installation.Needs(c.observed); need != c.need {
			t.Errorf("%s: %q is needed, not %q", name, need, c.need)
		}
	}
}

// If there is no plan, the decision has the same reason as the status.
func TestWithoutAPlanTheReasonIsTheDecision(t *testing.T) {
	missing := errors.New("import x is missing")
	o := installation.Observed{
		Name: "root", Root: true, Phase: lsv1alpha1.PhaseInit, Job: run.Job{ID: "job"}, Finalizer: true,
		Plan: &installation.Plan{Err: missing},
	}
	want := installation.Decision{
		Do:   []installation.Effect{installation.Fail{Step: "prepare", Err: missing}},
		Next: lsv1alpha1.PhaseCleanupOrphaned,
		Why:  decision.Reason{Message: missing.Error()},
		Wait: true,
	}
	same := cmp.Comparer(func(a, b error) bool { return a == b })
	if diff := cmp.Diff(want, installation.Decide(o), same, cmpopts.IgnoreFields(decision.Reason{}, "Code")); diff != "" {
		t.Errorf("the decision (-want +got):\n%s", diff)
	}
}
