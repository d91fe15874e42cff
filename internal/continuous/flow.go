// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package continuous

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/run"
)

// ConditionFlow is False while spec.flow names a flow that the installation cannot follow yet.
const ConditionFlow lsv1alpha1.ConditionType = "FlowChange"

// NoteFlow says in the status of an installation, whichever flow it follows, that a change of spec.flow has no effect yet,
// and takes that back later. It belongs to the end of each settlement.
func NoteFlow(inst *lsv1alpha1.Installation, now time.Time) {
	status := &inst.Status
	is := func(c lsv1alpha1.Condition) bool { return c.Type == ConditionFlow }
	at := slices.IndexFunc(status.Conditions, is)
	present, chosen := installation.FlowOf(inst), inst.Spec.Flow.OrDefault()
	onItsWay := status.Phase != "" && !status.Phase.IsFinal() || !status.IsFinished()
	if present == chosen || !onItsWay {
		if at >= 0 {
			status.Conditions = slices.DeleteFunc(slices.Clone(status.Conditions), is)
		}
		return
	}
	c := lsv1alpha1.Condition{
		Type: ConditionFlow, Status: lsv1alpha1.ConditionFalse, Reason: run.ReasonFlowChangeRefused,
		LastTransitionTime: metav1.NewTime(now), LastUpdateTime: metav1.NewTime(now), ObservedGeneration: inst.Generation,
		Message: fmt.Sprintf("spec.flow cannot become %s while the installation is on its way: it goes on in the flow %s, and the change takes effect once its phase is Succeeded, Failed or Aborted",
			chosen, present),
	}
	switch {
	case at < 0:
		status.Conditions = append(slices.Clone(status.Conditions), c)
	case status.Conditions[at].Message != c.Message || status.Conditions[at].ObservedGeneration != c.ObservedGeneration:
		c.LastTransitionTime = status.Conditions[at].LastTransitionTime
		status.Conditions = slices.Clone(status.Conditions)
		status.Conditions[at] = c
	}
}
