// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

const (
	helmGroup       = "helm.toolkit.fluxcd.io"
	helmReleaseKind = "HelmRelease"
	// digestLength is how many hexadecimal digits of a digest or commit Flux appends to the version of a chart.
	digestLength = 12
)

// Judge tells how an application is, from the object alone. A problem is returned if it is ready without saying at which revision. It
// makes do with whatever the object contains: what does not have the expected form counts as absent.
func Judge(object *unstructured.Unstructured) (Health, Problem) {
	health := Health{
		Suspended:  flag(object.Object, "spec", "suspend"),
		Deleting:   object.GetDeletionTimestamp() != nil,
		Generation: object.GetGeneration(),
	}
	judge := judgeByScheme
	if isInstallation(object) {
		judge = judgeInstallation
	}
	verdict := judge(object)
	health.Revision, health.AttemptedRevision, health.Failing = verdict.revision, verdict.attempted, verdict.failing
	health.NeverDeployed = verdict.undeployed && verdict.unready != ""
	switch {
	case health.Deleting:
		health.Message = "it is being deleted"
	case health.Suspended:
		health.Message = "it is suspended: nothing of it is brought up to date until spec.suspend is taken back"
	case verdict.unready != "":
		health.Message = shorten(verdict.unready)
	case verdict.revision == "":
		return health, Problem{
			Reason:  ReasonNoRevision,
			Message: fmt.Sprintf("the %s is ready, but does not say at which revision: %s", object.GetKind(), verdict.expected),
		}
	default:
		health.Healthy, health.ReadySince = true, verdict.since
	}
	return health, Problem{}
}

// verdict is what the rules for a kind say about an object that is neither suspended nor being deleted.
type verdict struct {
	revision, attempted string
	unready             string // why it is not ready; empty if it is
	failing             bool   // it is not ready because its last attempt has come to a bad end
	undeployed          bool   // it has never run any revision
	since               time.Time
	expected            string // where the revision should be
}

// judgeByScheme knows the kinds that have a condition Ready and say in their status which revision they run.
func judgeByScheme(object *unstructured.Unstructured) verdict {
	v := verdict{
		revision:  text(object.Object, "status", "lastAppliedRevision"),
		attempted: text(object.Object, "status", "lastAttemptedRevision"),
		expected:  "status.lastAppliedRevision is empty",
	}
	if object.GetKind() == helmReleaseKind && object.GroupVersionKind().Group == helmGroup {
		v.revision = withoutDigest(deployedChart(object, v.revision))
		v.attempted = withoutDigest(v.attempted)
		v.expected = "status.history has no entry that is deployed, and status.lastAppliedRevision is empty"
	}
	ready := condition(object.Object, "Ready")
	v.unready, v.failing = unready(object, ready)
	v.since = moment(ready, "lastTransitionTime")
	// A release that failed says nothing of what was there before; it was not the first decision to deploy.
	v.undeployed = v.revision == "" && len(list(object.Object, "status", "history")) == 0
	return v
}

// unready says why the condition Ready does not count as true, and whether that is an end: while something is under way, its status is
// Unknown.
func unready(object *unstructured.Unstructured, ready map[string]any) (why string, failing bool) {
	if ready == nil {
		return "it has no condition Ready yet", false
	}
	status := text(ready, "status")
	why = explain("it is not ready", text(ready, "reason"), text(ready, "message"))
	lag, certain := behind(object, ready)
	switch {
	case lag != "" && certain && status == "False":
		// Some controllers count a generation as observed only when they could begin with it; until then the condition says what is missing.
		return why, false
	case lag != "":
		return lag, false
	case status == "True":
		return "", false
	}
	return why, status == "False"
}

// behind says how the status may speak of another generation than the object has; empty if it does not. certain reports whether at least
// the condition Ready speaks of this one.
func behind(object *unstructured.Unstructured, ready map[string]any) (how string, certain bool) {
	generation := object.GetGeneration()
	ofStatus, hasStatus := number(object.Object, "status", "observedGeneration")
	ofReady, hasReady := number(ready, "observedGeneration")
	certain = hasReady && ofReady == generation
	switch {
	case !hasStatus && !hasReady:
		return "it does not say for which generation it is ready: neither status.observedGeneration nor that of the condition Ready is set", certain
	case hasStatus && ofStatus != generation:
		return fmt.Sprintf(
			"its latest change is not processed yet: the generation is %d, status.observedGeneration %d",
			generation,
			ofStatus,
		), certain
	case hasReady && ofReady != generation:
		return fmt.Sprintf(
			"its latest change is not processed yet: the generation is %d, that of the condition Ready %d",
			generation,
			ofReady,
		), certain
	}
	return "", certain
}

// deployedChart returns the version of the chart that a HelmRelease runs. The history is sorted from new to old; its first entry may be an
// upgrade that failed while the release before it goes on running. Older versions of the API have no history.
func deployedChart(object *unstructured.Unstructured, applied string) string {
	history := list(object.Object, "status", "history")
	if len(history) == 0 {
		return applied
	}
	for _, entry := range history {
		if fields, ok := entry.(map[string]any); ok && text(fields, "status") == "deployed" {
			return text(fields, "chartVersion")
		}
	}
	return ""
}

// withoutDigest takes away what Flux appends to the version of a chart from an OCI repository. Other build metadata stays.
func withoutDigest(version string) string {
	before, suffix, found := strings.Cut(version, "+")
	if !found || len(suffix) != digestLength || strings.Trim(suffix, "0123456789abcdef") != "" {
		return version
	}
	return before
}

const installationKind = "Installation"

func isInstallation(object *unstructured.Unstructured) bool {
	return object.GetKind() == installationKind && object.GroupVersionKind().Group == lsv1alpha1.GroupName
}

// judgeInstallation knows the installations of this project. Their revision is the version that they ask for: while it differs from what
// runs, they are not healthy.
func judgeInstallation(object *unstructured.Unstructured) verdict {
	revision, expected := revisionOf(object)
	unready, failing := unfinished(object)
	return verdict{
		revision:  revision,
		attempted: revision,
		unready:   unready,
		failing:   failing,
		undeployed: text(object.Object, "status", "phase") == "" ||
			text(object.Object, "spec", "flow") != string(lsv1alpha1.FlowContinuous) && text(object.Object, "status", "jobIDFinished") == "",
		since:    moment(object.Object, "status", "phaseTransitionTime"),
		expected: expected,
	}
}

// revisionOf returns the revision of an installation, and why it has none.
func revisionOf(object *unstructured.Unstructured) (revision, why string) {
	var spec lsv1alpha1.InstallationSpec
	fields, _ := object.Object["spec"].(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &spec); err != nil {
		return "", "its spec cannot be understood: " + err.Error()
	}
	revision, err := spec.Revision()
	if err != nil {
		return "", err.Error()
	}
	return revision, "spec.componentDescriptor names no version of a component, and spec.revisionField no other field"
}

// unfinished says why an installation is not at its goal, and whether that is an end.
func unfinished(object *unstructured.Unstructured) (why string, failing bool) {
	phase := text(object.Object, "status", "phase")
	observed, _ := number(object.Object, "status", "observedGeneration")
	switch {
	case phase == "":
		return "it has not been processed yet", false
	case observed != object.GetGeneration():
		return fmt.Sprintf(
			"its latest change is not processed yet: the generation is %d, status.observedGeneration %d",
			object.GetGeneration(),
			observed,
		), false
	case text(object.Object, "status", "jobID") != text(object.Object, "status", "jobIDFinished"):
		return "its job is running, in phase " + phase, false
	case phase != string(lsv1alpha1.PhaseSucceeded):
		return explain(
				"it is in phase "+phase,
				text(object.Object, "status", "lastError", "reason"),
				text(object.Object, "status", "lastError", "message"),
			), lsv1alpha1.Phase(phase).
				IsFinal()
	}
	return "", false
}
