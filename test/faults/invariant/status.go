// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"regexp"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// reasonForm matches reasons that follow the conventions of Kubernetes.
var reasonForm = regexp.MustCompile(`^[A-Z][A-Za-z0-9_]*$`)

// statusIsHonest holds at every revision. A nested object that was just given a job may still show the previous success.
func statusIsHonest(history testkit.History) []Violation {
	f := &findings{rule: "I13"}
	replay(history, func(s step) {
		o := s.after
		if o == nil || !o.runs() {
			return
		}
		if o.observed > o.generation && !turnsContinuous(o) {
			f.add(s, "observedGeneration %d is ahead of generation %d", o.observed, o.generation)
		}
		if s.before != nil && s.before.raw.GetUID() == o.raw.GetUID() && o.observed < s.before.observed {
			f.add(s, "observedGeneration falls from %d to %d", s.before.observed, o.observed)
		}
		for _, condition := range typed[lsv1alpha1.Installation](o).Status.Conditions {
			checkCondition(f, s, condition)
		}
	})
	return f.found
}

// turnsContinuous reports whether a deploy item is about to change to the continuous flow, and reports first that this requires no
// deployment.
func turnsContinuous(o *object) bool {
	return o.id.Kind == kindDeployItem && !o.isContinuous() && o.isFinished() && o.observed == o.generation+1
}

func checkCondition(f *findings, s step, condition lsv1alpha1.Condition) {
	if !reasonForm.MatchString(condition.Reason) {
		f.add(s, "condition %s has the reason %q", condition.Type, condition.Reason)
	}
	if condition.ObservedGeneration > s.after.generation {
		f.add(s, "condition %s speaks of generation %d, ahead of %d", condition.Type, condition.ObservedGeneration, s.after.generation)
	}
	if condition.Type != lsv1alpha1.ConditionReady || condition.Status != lsv1alpha1.ConditionTrue {
		return
	}
	_, nested := s.after.parent()
	if !s.after.isSuccess() || !nested && !s.after.isFinished() {
		f.add(s, "it is Ready in phase %q, with job %q and finished job %q", s.after.phase, s.after.job, s.after.finished)
	}
}
