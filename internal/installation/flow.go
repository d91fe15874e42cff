// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

// FlowOf returns the flow that an installation currently follows. An installation that the continuous flow has processed stays in it until
// the objects below have changed their flow too.
func FlowOf(inst *lsv1alpha1.Installation) lsv1alpha1.Flow {
	if inst.Status.IsFinished() && Entered(&inst.Status) {
		return lsv1alpha1.FlowContinuous
	}
	return run.FlowOf(inst.Spec.Flow, &inst.Status.RunStatus)
}

// left marks a version that only the exports still use: the installation has since left the continuous flow.
const left = ".left"

// Entered reports whether the continuous flow has processed an installation that has not left it since.
func Entered(status *lsv1alpha1.InstallationStatus) bool {
	return status.ConfigGeneration != "" && !strings.HasSuffix(status.ConfigGeneration, left)
}

// Leave records in the status that the installation has left the continuous flow. Its exports stay as they are.
func Leave(status *lsv1alpha1.InstallationStatus) {
	if Entered(status) {
		status.ConfigGeneration += left
	}
	status.Imports = nil
}

// Enter reverts Leave; without an earlier version, the installation gets the given one.
func Enter(status *lsv1alpha1.InstallationStatus, version string) {
	if status.ConfigGeneration = strings.TrimSuffix(status.ConfigGeneration, left); status.ConfigGeneration == "" {
		status.ConfigGeneration = version
	}
}

// ExportMark returns the version that the installation's exports carry: that of its last update in the continuous flow unless there was a
// job since, otherwise its last job.
func ExportMark(status *lsv1alpha1.InstallationStatus) string {
	if version := strings.TrimSuffix(status.ConfigGeneration, left); version != "" {
		return version
	}
	return status.JobIDFinished
}

// ConditionFlow is False while spec.flow names a flow that the installation cannot follow yet.
const ConditionFlow lsv1alpha1.ConditionType = "FlowChange"

// noteFlow records in the status that a change of spec.flow has no effect yet, and removes that record once it has. It applies to both
// flows.
func noteFlow(inst *lsv1alpha1.Installation, now time.Time) {
	status := &inst.Status
	is := func(c lsv1alpha1.Condition) bool { return c.Type == ConditionFlow }
	at := slices.IndexFunc(status.Conditions, is)
	present, chosen := FlowOf(inst), inst.Spec.Flow.OrDefault()
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
		Message: fmt.Sprintf(
			"spec.flow cannot change to %s yet: the installation finishes in flow %s first, and the change takes effect once its phase is Succeeded, Failed or Aborted",
			chosen,
			present,
		),
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
