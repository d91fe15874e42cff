// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

const (
	helmGroup       = "helm.toolkit.fluxcd.io"
	helmReleaseKind = "HelmRelease"
	// digestLength is the number of hexadecimal digits of a digest or commit that Flux appends to the version of a chart.
	digestLength = 12
)

// HealthOf determines the health of an application from the object alone. It returns a problem if the object is ready without reporting a
// revision. It accepts any contents: fields without the expected form count as missing.
func HealthOf(object *unstructured.Unstructured) (Health, Problem) {
	health := Health{
		Suspended:  flag(object.Object, "spec", "suspend"),
		Deleting:   object.GetDeletionTimestamp() != nil,
		Generation: object.GetGeneration(),
	}
	verdictOn, suspending := verdictByScheme, "spec.suspend is removed"
	if isInstallation(object) {
		verdictOn, suspending = verdictOfInstallation, "it is resumed"
		// The annotation has no effect on a nested installation.
		health.Suspended = object.GetAnnotations()[lsv1alpha1.SuspendAnnotation] == "true" &&
			object.GetLabels()[lsv1alpha1.EncompassedByLabel] == ""
	}
	verdict := verdictOn(object)
	health.Revision, health.AttemptedRevision, health.Failing = verdict.revision, verdict.attempted, verdict.failing
	health.NeverDeployed = verdict.undeployed && verdict.unready != ""
	switch {
	case health.Deleting:
		health.Message = "being deleted"
	case health.Suspended:
		health.Message = "suspended: not updated until " + suspending
	case verdict.unready != "":
		health.Message = shorten(verdict.unready)
	case verdict.revision == "":
		return health, Problem{
			Reason:  ReasonNoRevision,
			Message: fmt.Sprintf("the %s is ready, but reports no revision: %s", object.GetKind(), verdict.expected),
		}
	default:
		health.Healthy, health.ReadySince = true, verdict.since
	}
	return health, Problem{}
}

// verdict is the result of the rules for a kind, for an object that is neither suspended nor being deleted.
type verdict struct {
	revision, attempted string
	unready             string // why it is not ready; empty if it is
	failing             bool   // it is not ready because its last attempt failed
	undeployed          bool   // it has never run any revision
	since               time.Time
	expected            string // the field with the revision
}

// verdictByScheme handles the kinds that have a condition Ready and report the running revision in their status.
func verdictByScheme(object *unstructured.Unstructured) verdict {
	v := verdict{
		revision:  text(object.Object, "status", "lastAppliedRevision"),
		attempted: text(object.Object, "status", "lastAttemptedRevision"),
		expected:  "status.lastAppliedRevision is empty",
	}
	if object.GetKind() == helmReleaseKind && object.GroupVersionKind().Group == helmGroup {
		v.revision = releasedVersion(object, deployedChart(object, v.revision))
		v.attempted = releasedVersion(object, v.attempted)
		v.expected = "status.history has no deployed entry, and status.lastAppliedRevision is empty"
	}
	ready := condition(object.Object, "Ready")
	v.unready, v.failing = unready(object, ready)
	v.since = moment(ready, "lastTransitionTime")
	// A failed release reveals nothing about earlier ones, but shows that a user has decided to deploy.
	v.undeployed = v.revision == "" && len(list(object.Object, "status", "history")) == 0
	return v
}

// unready returns why the condition Ready is not true, and whether the attempt has failed: during the attempt, the status is Unknown.
func unready(object *unstructured.Unstructured, ready map[string]any) (why string, failing bool) {
	if ready == nil {
		return "no condition Ready yet", false
	}
	status := text(ready, "status")
	why = explain("not ready", text(ready, "reason"), text(ready, "message"))
	lag, certain := behind(object, ready)
	switch {
	case lag != "" && certain && status == "False":
		// Some controllers set the observed generation only once they start to process it; until then, the condition shows what is missing.
		return why, false
	case lag != "":
		return lag, false
	case status == "True":
		return "", false
	}
	return why, status == "False"
}

// behind returns why the status may describe another generation of the object; empty if it does not. certain reports whether at least the
// condition Ready describes the current generation.
func behind(object *unstructured.Unstructured, ready map[string]any) (how string, certain bool) {
	generation := object.GetGeneration()
	ofStatus, hasStatus := number(object.Object, "status", "observedGeneration")
	ofReady, hasReady := number(ready, "observedGeneration")
	certain = hasReady && ofReady == generation
	switch {
	case !hasStatus && !hasReady:
		return "it does not report for which generation it is ready: neither status.observedGeneration nor that of the condition Ready is set", certain
	case hasStatus && ofStatus != generation:
		return fmt.Sprintf(
			"its latest change is not processed yet: generation %d, status.observedGeneration %d",
			generation,
			ofStatus,
		), certain
	case hasReady && ofReady != generation:
		return fmt.Sprintf(
			"its latest change is not processed yet: generation %d, observed by condition Ready %d",
			generation,
			ofReady,
		), certain
	}
	return "", certain
}

// deployedChart returns the version of the chart that a HelmRelease runs. The history is sorted from new to old; its first entry may be a
// failed upgrade while the previous release still runs. Older versions of the API have no history.
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

// builtByFlux is what Flux appends to the version of a chart that it packages with other values: the generation of the HelmChart, behind
// the commit or digest of the source if it packages each revision of that.
var builtByFlux = regexp.MustCompile(`\+([0-9a-f]{12}\.)?[0-9]+$`)

// releasedVersion returns the version under which a chart was released, without what Flux appends. A generation belongs to one object, so
// it differs between environments that run the same chart. Without values files, a number is build metadata of the chart.
func releasedVersion(object *unstructured.Unstructured, version string) string {
	files, file := list(object.Object, "spec", "chart", "spec", "valuesFiles"), text(object.Object, "spec", "chart", "spec", "valuesFile")
	if len(files) > 0 || file != "" {
		version = builtByFlux.ReplaceAllString(version, "")
	}
	return withoutDigest(version)
}

// withoutDigest removes what Flux appends to the version of a chart from an OCI repository. Other build metadata remains.
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

// verdictOfInstallation handles the installations of this project. Their revision is the version in their spec: while that differs from the
// running one, they are not healthy.
func verdictOfInstallation(object *unstructured.Unstructured) verdict {
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

// revisionOf returns the revision of an installation, or why it has none.
func revisionOf(object *unstructured.Unstructured) (revision, why string) {
	var spec lsv1alpha1.InstallationSpec
	fields, _ := object.Object["spec"].(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &spec); err != nil {
		return "", "its spec cannot be parsed: " + err.Error()
	}
	revision, err := spec.Revision()
	if err != nil {
		return "", err.Error()
	}
	return revision, "spec.componentDescriptor has no component version, and spec.revisionField names no other field"
}

// unfinished returns why an installation is not up to date, and whether it has failed.
func unfinished(object *unstructured.Unstructured) (why string, failing bool) {
	phase := text(object.Object, "status", "phase")
	observed, _ := number(object.Object, "status", "observedGeneration")
	switch {
	case phase == "":
		return "not processed yet", false
	case observed != object.GetGeneration():
		return fmt.Sprintf(
			"its latest change is not processed yet: generation %d, status.observedGeneration %d",
			object.GetGeneration(),
			observed,
		), false
	case text(object.Object, "status", "jobID") != text(object.Object, "status", "jobIDFinished"):
		return "job running, in phase " + phase, false
	case phase != string(lsv1alpha1.PhaseSucceeded):
		return explain(
				"in phase "+phase,
				text(object.Object, "status", "lastError", "reason"),
				text(object.Object, "status", "lastError", "message"),
			), lsv1alpha1.Phase(phase).
				IsFinal()
	}
	return "", false
}
