// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"slices"

	pipelinesv1alpha1 "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/pipeline"
)

// PromotionPreview is the effect of a decision about a promotion. It is derived from the pipeline alone, so everybody who may read the
// pipeline may see it.
type PromotionPreview struct {
	Environment string `json:"environment"`
	Revision    string `json:"revision"`
	// Warnings are what to know before deciding: that the decision would be rejected, or is a downgrade.
	Warnings []string `json:"warnings"`
	// Targets are the current and the new revision of each target.
	Targets []TargetShift `json:"targets"`
	// Approvals says who has approved the promotion.
	Approvals string `json:"approvals"`
	// Passed are the gates that it has passed, Left those that still hold it after the decision.
	Passed []Gate `json:"passed"`
	Left   []Gate `json:"left"`
	// Request is its pull request, if it already exists, and Changes are the fields that are written.
	Request *Request     `json:"request,omitempty"`
	Changes []FieldShift `json:"changes"`
	// Then is what happens next, step by step.
	Then []string `json:"then"`
}

// TargetShift is the revision of a target before and after. Both are the same if nothing changes there.
type TargetShift struct {
	Cluster   string `json:"cluster,omitempty"`
	Namespace string `json:"namespace"`
	From      string `json:"from,omitempty"`
	To        string `json:"to,omitempty"`
	Ready     bool   `json:"ready"`
}

// decision returns the effect of a wish about a promotion; nil for other wishes.
func (b *board) decision(w Wish) *PromotionPreview {
	at := slices.IndexFunc(b.p.Spec.Environments, func(e pipelinesv1alpha1.Environment) bool { return e.Name == w.Environment })
	how := slices.IndexFunc(decisions, func(d decision) bool { return d.id == w.Action })
	p := b.p.Status.Environments[w.Environment].Promotion
	if at < 1 || how < 0 || p == nil {
		return nil
	}
	cards := b.environments()
	before, card := cards[at-1], cards[at]
	preview := &PromotionPreview{
		Environment: w.Environment, Revision: cmp.Or(w.Revision, p.Revision), Warnings: []string{}, Targets: shifts(card, p, w.Action),
		Approvals: approvalsTold(p, b.p.Spec.PromotionTo(b.p.Spec.Environments[at])),
		Passed:    []Gate{}, Left: []Gate{}, Request: requestOf(p), Changes: []FieldShift{}, Then: []string{},
	}
	after, answer, err := b.after(decisions[how].try, pipeline.Ask{Environment: w.Environment, Revision: preview.Revision, Run: p.Run})
	switch {
	case err != nil:
		preview.Warnings = append(preview.Warnings, "It would be rejected: "+err.Error()+".")
	case answer.Already:
		preview.Warnings = append(preview.Warnings, "Nothing would change: "+answer.Message+".")
	case b.p.DeletionTimestamp != nil:
		preview.Warnings = append(preview.Warnings, "The pipeline is being deleted: no more promotions.")
	}
	if p.Downgrade && w.Action != "reject" {
		preview.Warnings = append(preview.Warnings, "A target runs a higher version now: this is a downgrade.")
	}
	if w.Action == "reject" {
		preview.Then = rejected(card, p)
		return preview
	}
	g := after.gatesTo(at, before, card)
	preview.Passed, preview.Left = sorted(g.all(), p.Approval != nil)
	preview.Changes = b.changes(at, card, p, g.how)
	preview.Then = b.then(at, g, preview.Left)
	return preview
}

// shifts returns the targets of an environment, with the revisions that they would run.
func shifts(card Environment, p *pipelinesv1alpha1.PromotionStatus, action string) []TargetShift {
	all := make([]TargetShift, 0, len(card.Targets))
	for _, cell := range card.Targets {
		shift := TargetShift{Cluster: cell.Cluster, Namespace: cell.Namespace, From: cell.Revision, To: p.Revision, Ready: cell.Ready}
		if action == "reject" {
			shift.To = cell.Revision
		}
		all = append(all, shift)
	}
	return all
}

// sorted returns the gates that a promotion has passed after a decision, and those that still hold it. The decision itself is not an
// approval by another user.
func sorted(all []Gate, approved bool) (passed, left []Gate) {
	passed, left = []Gate{}, []Gate{}
	for _, gate := range all {
		switch {
		case gate.Kind == "strategy", gate.Kind == "approval" && gate.State == gatePassed && !approved:
		case gate.State == gatePassed:
			passed = append(passed, gate)
		default:
			left = append(left, gate)
		}
	}
	return passed, left
}

// then returns what happens after a decision that lets a promotion continue.
func (b *board) then(at int, g gates, left []Gate) []string {
	var steps []string
	for _, gate := range left {
		steps = append(steps, "It waits first: "+gate.Label+".")
	}
	steps = append(steps, byStrategy(g.how))
	steps = append(steps, fmt.Sprintf("It has arrived when all targets of %s are healthy at it.", g.spec.Name))
	if at+1 < len(b.p.Spec.Environments) {
		steps = append(steps, fmt.Sprintf("After that, its promotion to %s starts.", b.p.Spec.Environments[at+1].Name))
	}
	return steps
}

// byStrategy says how a revision gets into an environment.
func byStrategy(how *pipelinesv1alpha1.Promotion) string {
	switch {
	case how != nil && how.Strategy.PullRequest != nil:
		request := how.Strategy.PullRequest
		return fmt.Sprintf("A pull request into %s of %s is opened. It must be merged there.", request.BaseBranch, withoutUser(request.URL))
	case how != nil && how.Strategy.Notification != nil:
		return "A notification is sent. Its receiver makes the change."
	case how != nil && how.Strategy.Installation != nil:
		return "The installations are changed, and their jobs start."
	}
	return "No promotion strategy: set one."
}

// rejected returns what happens after a rejection.
func rejected(card Environment, p *pipelinesv1alpha1.PromotionStatus) []string {
	return []string{
		fmt.Sprintf("%s keeps what it runs: %s.", card.Name, cmp.Or(card.Revision, "nothing")),
		fmt.Sprintf("%s gets there only after a retry. A newer revision is promoted automatically.", p.Revision),
	}
}
