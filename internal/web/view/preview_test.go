// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/web/view"
)

func TestPreviews(t *testing.T) {
	for name, test := range map[string]struct {
		wish view.Wish
		want string
		refs int
	}{
		"nothing to see": {
			view.Wish{Action: "reconcile", Ref: view.Ref{Kind: "Installation", Namespace: "a", Name: "none"}}, "Nothing that belongs to none is visible here.", 1,
		},
		"no pipeline": {
			view.Wish{Action: "promote", Ref: view.Ref{Kind: "Pipeline", Namespace: "a", Name: "none"}}, "Nothing that belongs to none is visible here.", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := view.NewPreview(view.Scene{}, test.wish); got.Text != test.want || len(got.Objects) != test.refs {
				t.Errorf("%+v", got)
			}
		})
	}
}

// decisionOn returns the effect of a decision on the promotion to production.
func decisionOn(t *testing.T, action string, change ...func(*pipelines.Pipeline)) view.PromotionPreview {
	t.Helper()
	got := view.NewPreview(sceneOf(line(change...)), view.Wish{
		Action: action, Ref: view.Ref{Kind: "Pipeline", Namespace: "shop", Name: "shop"}, Environment: "production", Revision: "1.3.0",
	})
	noNulls(t, got)
	if got.Promotion == nil {
		t.Fatalf("nothing is said of the promotion: %+v", got)
	}
	return *got.Promotion
}

func labels(gates []view.Gate) string {
	var all []string
	for _, gate := range gates {
		all = append(all, gate.Label)
	}
	return strings.Join(all, ", ")
}

func TestPreviewsOfDecisions(t *testing.T) {
	shift := []view.TargetShift{{Cluster: "east", Namespace: "shop", From: "1.2.0", To: "1.3.0", Ready: true}}
	approve := decisionOn(t, "approve")
	if diff := cmp.Diff(shift, approve.Targets); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	expect(t, "passed", labels(approve.Passed), "staging is healthy, Soak 2h, Window")
	expect(t, "left", labels(approve.Left), "")
	expect(t, "approvals", approve.Approvals, "Not approved yet. One approval is enough.")
	expect(t, "then", strings.Join(approve.Then, " "),
		"A notification is sent. Its receiver makes the change. It has arrived when all targets of production are healthy at it.")
	expect(t, "warnings", strings.Join(approve.Warnings, " "), "")

	early := func(p *pipelines.Pipeline) {
		settle(p, "staging", "1.3.0", time.Hour)
		p.Spec.Environments[2].Windows = []pipelines.Window{{Kind: pipelines.WindowDeny, Schedule: "0 0 * * *", Duration: "25h"}}
	}
	held := decisionOn(t, "approve", early)
	expect(t, "gates that are left", labels(held.Left), "Soak 2h, Window")
	expect(t, "first", held.Then[0], "It waits first: Soak 2h.")
	now := decisionOn(t, "promote", early)
	expect(t, "gates that are left if somebody cannot wait", labels(now.Left), "")

	reject := decisionOn(t, "reject")
	shift[0].To = "1.2.0"
	if diff := cmp.Diff(shift, reject.Targets); diff != "" {
		t.Errorf("targets after a rejection (-want +got):\n%s", diff)
	}
	expect(t, "after a rejection", reject.Then[0], "production keeps what it runs: 1.2.0.")
}

func TestPreviewsOfDecisionsThatSomethingSpeaksAgainst(t *testing.T) {
	downgrade := decisionOn(t, "approve", func(p *pipelines.Pipeline) { p.Status.Environments["production"].Promotion.Downgrade = true })
	expect(t, "a downgrade", strings.Join(downgrade.Warnings, " "), "A target runs a higher version now: this is a downgrade.")
	going := decisionOn(t, "approve", func(p *pipelines.Pipeline) { p.DeletionTimestamp = ago(time.Minute) })
	expect(t, "a pipeline that goes", strings.Join(going.Warnings, " "), "The pipeline is being deleted: no more promotions.")
	// Another decision was made while the dialog was open.
	rejected := func(p *pipelines.Pipeline) {
		promote(p, "production", pipelines.PromotionStatus{
			Revision: "1.3.0", Run: 4, State: pipelines.PromotionRejected, StartTime: *ago(time.Hour),
			Approval: &pipelines.Approval{Decision: pipelines.DecisionRejected, By: "kim", Message: "after the sale", Time: *ago(time.Hour)},
		})
	}
	late := decisionOn(t, "approve", rejected)
	if len(late.Warnings) != 1 || !strings.HasPrefix(late.Warnings[0], "It would be rejected: revision 1.3.0 was rejected") {
		t.Errorf("warnings: %q", late.Warnings)
	}
	expect(t, "approvals", late.Approvals, "Rejected by kim: after the sale.")
	retry := decisionOn(t, "retry", rejected)
	expect(t, "what a retry waits for", labels(retry.Left), "Your approval")
	s := sceneOf(line())
	got := view.NewPreview(s, view.Wish{Action: "hold", Ref: view.Ref{Kind: "Pipeline", Namespace: "shop", Name: "shop"}, Environment: "production"})
	if got.Promotion != nil {
		t.Errorf("a hold is about no promotion: %+v", got.Promotion)
	}
}

func TestThePreviewOfAPullRequestSaysWhatIsWritten(t *testing.T) {
	byPullRequest := func(p *pipelines.Pipeline) {
		p.Spec.Environments[2].Promotion.Strategy = pipelines.Strategy{PullRequest: &pipelines.PullRequestStrategy{
			Type: pipelines.GitProviderGitea, URL: "https://git.example/team/apps", BaseBranch: "main",
		}}
		p.Status.Environments["production"].Promotion.Strategy = pipelines.StrategyPullRequest
	}
	got := decisionOn(t, "approve", byPullRequest)
	expect(t, "then", got.Then[0], "A pull request into main of https://git.example/team/apps is opened. It must be merged there.")
	if len(got.Changes) != 1 || got.Changes[0].Before != "1.2.0" || got.Changes[0].After != "1.3.0" {
		t.Errorf("changes: %+v", got.Changes)
	}
}
