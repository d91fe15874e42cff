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

// steps are the conditions that tell about single steps of a job, which older tools read.
var steps = []lsv1alpha1.ConditionType{
	lsv1alpha1.ConditionValidateImports, lsv1alpha1.ConditionCreateImports, lsv1alpha1.ConditionEnsureSubInstallations,
	lsv1alpha1.ConditionEnsureExecutions, lsv1alpha1.ConditionValidateExport, lsv1alpha1.ConditionCreateExports,
}

// markSteps records which steps were done, and which one failed: errors name it as their operation. A condition that
// stays as it was keeps its times, so that nothing has to be written.
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

// maxWarnings bounds the message about warnings, in bytes.
const maxWarnings = 1000

// warn says in a status what has no effect in the blueprint, if there is anything.
func (p Prepared) warn(status *lsv1alpha1.InstallationStatus, now time.Time) {
	if len(p.Warnings) == 0 {
		status.Conditions = slices.DeleteFunc(slices.Clone(status.Conditions), func(c lsv1alpha1.Condition) bool {
			return c.Type == lsv1alpha1.ConditionBlueprintWarnings
		})
		return
	}
	message := strings.Join(p.Warnings, "; ")
	if len(message) > maxWarnings {
		message = strings.ToValidUTF8(message[:maxWarnings], "") + "..."
	}
	at := metav1.NewTime(now)
	set(status, lsv1alpha1.Condition{
		Type: lsv1alpha1.ConditionBlueprintWarnings, Status: lsv1alpha1.ConditionTrue, Reason: "NoEffect", Message: message,
		ObservedGeneration: status.ObservedGeneration, LastTransitionTime: at, LastUpdateTime: at,
	})
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
