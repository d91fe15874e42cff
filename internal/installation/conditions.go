// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
)

// steps are the conditions for single steps of a job, which older tools read.
var steps = []lsv1alpha1.ConditionType{
	lsv1alpha1.ConditionValidateImports, lsv1alpha1.ConditionCreateImports, lsv1alpha1.ConditionEnsureSubInstallations,
	lsv1alpha1.ConditionEnsureExecutions, lsv1alpha1.ConditionValidateExport, lsv1alpha1.ConditionCreateExports,
}

// markSteps records which steps were done, and which one failed: errors name it as their operation. An unchanged condition keeps its
// times, so that no write is needed.
func markSteps(status *lsv1alpha1.InstallationStatus, now time.Time, done []lsv1alpha1.ConditionType, err error) {
	at := metav1.NewTime(now)
	stamp := lsv1alpha1.Condition{ObservedGeneration: status.ObservedGeneration, LastTransitionTime: at, LastUpdateTime: at}
	for _, step := range done {
		c := stamp
		c.Type, c.Status, c.Reason = step, lsv1alpha1.ConditionTrue, lsv1alpha1.ReasonSucceeded
		set(status, c)
	}
	if err == nil || failure.KindOf(err) == failure.Waiting {
		return
	}
	details := failure.DetailsOf(err)
	if step := lsv1alpha1.ConditionType(details.Operation); slices.Contains(steps, step) {
		c := stamp
		c.Type, c.Status, c.Reason, c.Message = step, lsv1alpha1.ConditionFalse, details.Reason, err.Error()
		set(status, c)
	}
}

// maxTold limits the length of a message in bytes.
const maxTold = 1000

// tell reports unexpected results in a status: what has no effect in the blueprint, and a component that overwrites have replaced.
func (p Prepared) tell(status *lsv1alpha1.InstallationStatus, now time.Time) {
	tellIfAny(status, now, lsv1alpha1.Condition{
		Type: lsv1alpha1.ConditionBlueprintWarnings, Reason: "NoEffect", Message: strings.Join(p.Warnings, "; "),
	})
	tellIfAny(status, now, lsv1alpha1.Condition{
		Type: lsv1alpha1.ConditionComponentReferenceOverwrite, Reason: "FoundOverwrite", Message: p.Overwritten,
	})
}

// tellIfAny sets a condition to True if it has a message, and otherwise removes it.
func tellIfAny(status *lsv1alpha1.InstallationStatus, now time.Time, c lsv1alpha1.Condition) {
	if c.Message == "" {
		status.Conditions = slices.DeleteFunc(slices.Clone(status.Conditions), func(b lsv1alpha1.Condition) bool { return b.Type == c.Type })
		return
	}
	if len(c.Message) > maxTold {
		c.Message = strings.ToValidUTF8(c.Message[:maxTold], "") + "..."
	}
	at := metav1.NewTime(now)
	c.Status, c.ObservedGeneration, c.LastTransitionTime, c.LastUpdateTime = lsv1alpha1.ConditionTrue, status.ObservedGeneration, at, at
	set(status, c)
}

func set(status *lsv1alpha1.InstallationStatus, c lsv1alpha1.Condition) {
	i := slices.IndexFunc(status.Conditions, func(b lsv1alpha1.Condition) bool { return b.Type == c.Type })
	if i < 0 {
		status.Conditions = append(slices.Clone(status.Conditions), c)
		return
	}
	before := status.Conditions[i]
	if before.Status == c.Status {
		c.LastTransitionTime = before.LastTransitionTime
		if before.Reason == c.Reason && before.Message == c.Message {
			return
		}
	}
	status.Conditions = slices.Clone(status.Conditions)
	status.Conditions[i] = c
}
