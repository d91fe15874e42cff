// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/objecttree"
)

// An answer points to the heading of the documentation that explains what is wrong, and only to one that exists.
func TestAnAnswerPointsToTheDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	headings := map[string]bool{"": true}
	for line := range strings.SplitSeq(string(page), "\n") {
		if heading, found := strings.CutPrefix(line, "### "); found {
			headings["docs/reference/errors.md#"+strings.ToLower(heading)] = true
		}
	}
	for _, word := range explain.Words() {
		if word.Area == "Pipelines: holds" {
			got, wanted := referenceOfHold(pipelines.HoldReason(word.Is))
			if got != wanted || !headings[got] && got != holdsSection {
				t.Errorf("hold %s: points to %q, want %q", word.Is, got, wanted)
			}
		}
	}
	failed := lsv1alpha1.RunStatus{Phase: lsv1alpha1.PhaseFailed, JobID: "a", JobIDFinished: "a"}
	running := lsv1alpha1.RunStatus{Phase: lsv1alpha1.PhaseInit, JobID: "b", JobIDFinished: "a"}
	for name, test := range map[string]struct {
		status lsv1alpha1.RunStatus
		err    lsv1alpha1.Error
		wanted string
	}{
		"a reason": {failed, lsv1alpha1.Error{Reason: "TemplateFailed"}, "docs/reference/errors.md#templatefailed"},
		"the reason says more than the code": {
			failed, lsv1alpha1.Error{Reason: "PickupTimeout", Codes: []lsv1alpha1.ErrorCode{lsv1alpha1.ErrorTimeout}}, "docs/reference/errors.md#pickuptimeout",
		},
		"a code alone": {
			failed, lsv1alpha1.Error{Reason: "TheirOwn", Codes: []lsv1alpha1.ErrorCode{"THEIRS", lsv1alpha1.ErrorTimeout}}, "docs/reference/errors.md#err_timeout",
		},
		"while it is tried again": {running, lsv1alpha1.Error{Reason: "RegistryUnavailable"}, "docs/reference/errors.md#registryunavailable"},
		"a reason of others":      {failed, lsv1alpha1.Error{Reason: "TheirOwn"}, ""},
		"only a wait":             {running, lsv1alpha1.Error{Reason: lsv1alpha1.ReasonWaitingForImports}, ""},
	} {
		shop := &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
		shop.Status.RunStatus = test.status
		shop.Status.LastError = &test.err
		var objects objecttree.Objects
		objects.Put(shop)
		got := explain.Reference(explain.Find(objects.Forest().Installation("", "shop"), nil)[0].Cause())
		if got != test.wanted || !headings[got] {
			t.Errorf("%s: points to %q", name, got)
		}
	}
}

const holdsSection = "docs/reference/conditions.md#pipelines-holds"

// referenceOfHold returns where a hold points, and where it must.
func referenceOfHold(reason pipelines.HoldReason) (got, wanted string) {
	const errors = "docs/reference/errors.md#"
	environment := pipelines.EnvironmentStatus{
		Targets:    []pipelines.TargetStatus{{}, {Reason: pipelines.ReasonTargetClusterNotFound}},
		Promotion:  &pipelines.PromotionStatus{Error: &pipelines.PromotionError{Reason: "NotArrived"}},
		Withdrawal: &pipelines.Withdrawal{Error: &pipelines.PromotionError{Reason: "SecretMissing"}},
	}
	wanted, found := map[pipelines.HoldReason]string{
		pipelines.HoldTargetNotReadable: errors + "targetclusternotfound", pipelines.HoldUnsettled: errors + "environmentnotready",
		pipelines.HoldFailed: errors + "notarrived", pipelines.HoldRetrying: errors + "notarrived", pipelines.HoldStalled: errors + "notarrived",
		pipelines.HoldAbandoned: errors + "abandoned", pipelines.HoldRejected: errors + "rejected", pipelines.HoldRolledBack: errors + "rolledback",
		pipelines.HoldReferenceNotPermitted: errors + "refnotpermitted", pipelines.HoldInvalid: errors + "invalid",
		pipelines.HoldWithdrawing: errors + "secretmissing", pipelines.HoldLeftOpen: errors + "pullrequestleftopen",
		// Nothing is wrong.
		pipelines.HoldSuspended: "", pipelines.HoldHeld: "", pipelines.HoldRollingOut: "", pipelines.HoldSoaking: "",
		pipelines.HoldOutsideWindow: "", pipelines.HoldWaitingForApproval: "", pipelines.HoldWaitingForMerge: "",
	}[reason]
	if !found {
		wanted = holdsSection
	}
	if reason == pipelines.HoldInvalid {
		environment.Targets = nil
	}
	p := &pipelines.Pipeline{Status: pipelines.PipelineStatus{Environments: map[string]pipelines.EnvironmentStatus{"prod": environment}}}
	return explain.ReferenceOfHold(p, "prod", reason), wanted
}

// Without an error, the hold itself is explained, if it needs anything.
func TestAHoldWithoutAnErrorPointsToItsSection(t *testing.T) {
	for reason, wanted := range map[pipelines.HoldReason]string{
		pipelines.HoldStalled: "docs/reference/errors.md#stalled", pipelines.HoldFailed: holdsSection, pipelines.HoldRetrying: holdsSection,
		pipelines.HoldTargetNotReadable: "docs/reference/errors.md#targetnotreadable", pipelines.HoldWithdrawing: "",
	} {
		if got := explain.ReferenceOfHold(&pipelines.Pipeline{}, "prod", reason); got != wanted {
			t.Errorf("hold %s: points to %q, want %q", reason, got, wanted)
		}
	}
}
