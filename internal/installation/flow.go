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

// FlowOf tells which flow an installation follows at present. One that the continuous flow has worked on stays in it until
// what is below has been told of the change, too.
func FlowOf(inst *lsv1alpha1.Installation) lsv1alpha1.Flow {
	if inst.Status.IsFinished() && Entered(&inst.Status) {
		return lsv1alpha1.FlowContinuous
	}
	return run.FlowOf(inst.Spec.Flow, &inst.Status.RunStatus)
}

// left marks a version of which nothing but the exports is left: the installation has left the continuous flow since.
const left = ".left"

// Entered reports whether the continuous flow has worked on an installation that has not left it.
func Entered(status *lsv1alpha1.InstallationStatus) bool {
	return status.ConfigGeneration != "" && !strings.HasSuffix(status.ConfigGeneration, left)
}

// Leave has the status say that the installation has left the continuous flow. What it exports stays as it is.
func Leave(status *lsv1alpha1.InstallationStatus) {
	if Entered(status) {
		status.ConfigGeneration += left
	}
	status.Imports = nil
}

// Enter takes back that the installation has left the continuous flow; without a version of before it has the given one.
func Enter(status *lsv1alpha1.InstallationStatus, version string) {
	if status.ConfigGeneration = strings.TrimSuffix(status.ConfigGeneration, left); status.ConfigGeneration == "" {
		status.ConfigGeneration = version
	}
}

// ExportMark is what the objects that an installation exports carry: the version of its last update in the continuous flow
// unless there was a job since, else its last job.
func ExportMark(status *lsv1alpha1.InstallationStatus) string {
	if version := strings.TrimSuffix(status.ConfigGeneration, left); version != "" {
		return version
	}
	return status.JobIDFinished
}

// ConditionFlow is False while spec.flow names a flow that the installation cannot follow yet.
const ConditionFlow lsv1alpha1.ConditionType = "FlowChange"

// noteFlow says in the status of an installation, whichever flow it follows, that a change of spec.flow has no effect yet,
// and takes that back later.
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
			"spec.flow cannot become %s while the installation is on its way: it goes on in the flow %s, and the change takes effect once its phase is Succeeded, Failed or Aborted",
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
