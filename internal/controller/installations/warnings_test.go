// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"slices"
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

func warnings(i *lsv1alpha1.Installation) string {
	return condition(i, lsv1alpha1.ConditionBlueprintWarnings).Message
}

// condition returns the condition of a type, empty if there is none.
func condition(i *lsv1alpha1.Installation, of lsv1alpha1.ConditionType) lsv1alpha1.Condition {
	at := slices.IndexFunc(i.Status.Conditions, func(c lsv1alpha1.Condition) bool { return c.Type == of })
	if at < 0 {
		return lsv1alpha1.Condition{}
	}
	return i.Status.Conditions[at]
}

// A setting without effect in a blueprint is reported once, in a condition and an event, until it is gone.
func TestWhatHasNoEffectInABlueprintIsReported(t *testing.T) {
	const want = `unknown field "jsonSchema": it has no effect; unknown field "title": it has no effect`
	const fields = "jsonSchema: https://json-schema.org/draft/2019-09/schema\ntitle: draft\n"
	blueprint := header + deploy(item("only"))
	w := newWorld(t)
	w.create(
		w.installation("job", blueprint+fields).Reconcile().Build(),
		w.installation("steady", blueprint+fields).Continuous().Build(),
	)
	job := w.finished("job", lsv1alpha1.PhaseSucceeded)
	steady := w.eventually(
		"steady",
		"installed",
		func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseSucceeded },
	)
	for _, inst := range []*lsv1alpha1.Installation{job, steady} {
		if got := warnings(inst); got != want {
			t.Errorf("%s: the condition says %q, want %q", inst.Name, got, want)
		}
		w.eventuallyTold(inst, string(lsv1alpha1.ConditionBlueprintWarnings), want)
	}
	w.request("job")
	w.eventually("job", "asked again", func(i *lsv1alpha1.Installation) bool { return i.Status.JobID != job.Status.JobID })
	w.finished("job", lsv1alpha1.PhaseSucceeded)
	w.toldOnce(job, string(lsv1alpha1.ConditionBlueprintWarnings), want)
	w.change("job", func(spec *lsv1alpha1.InstallationSpec) {
		spec.Blueprint = w.installation("job", blueprint).Build().Spec.Blueprint
	})
	w.request("job")
	w.eventually("job", "without warnings", func(i *lsv1alpha1.Installation) bool { return i.Status.IsFinished() && warnings(i) == "" })
}

func TestAMisspeltFieldOfABlueprintFailsTheJob(t *testing.T) {
	w := newWorld(t)
	w.create(
		w.installation("app", strings.Replace(header+deploy(item("only")), "deployExecutions:", "deployExecution:", 1)).Reconcile().Build(),
	)
	failed := w.finished("app", lsv1alpha1.PhaseFailed)
	if e := failed.Status.LastError; e == nil ||
		!strings.Contains(e.Message, `unknown field "deployExecution": correct its name or remove it`) {
		t.Errorf("the error is %+v", e)
	}
}
