// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelinesv1alpha1 "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/pipeline"
)

// consent returns what a person is asked to approve, with its effect.
func (b *board) consent(i int, e Environment, p *pipelinesv1alpha1.PromotionStatus, g gates) *Consent {
	c := &Consent{Revision: p.Revision, From: e.Revision, Since: startOf(p), Changes: b.changes(i, e, p, g.how)}
	from := cmp.Or(e.Revision, "nothing")
	c.Facts = append(c.Facts, Fact{"Revision", fmt.Sprintf("%s → %s", from, p.Revision)}, Fact{"Targets", targetsTold(e)})
	c.Facts = append(c.Facts, Fact{"After approval", afterApproval(g)})
	if passed := passedTold(g.all()); passed != "" {
		c.Facts = append(c.Facts, Fact{"Before", passed})
	}
	c.Facts = append(c.Facts, Fact{"Approvals", approvalsTold(p, g.how)})
	if p.Downgrade {
		c.Facts = append(c.Facts, Fact{"Downgrade", "A target runs a higher version now."})
	}
	if p.Run > 0 {
		c.Facts = append(c.Facts, Fact{"Run", fmt.Sprint(p.Run)})
	}
	return c
}

// targetsTold names the targets, with the revision of those that differ from the environment's.
func targetsTold(e Environment) string {
	names := make([]string, 0, len(e.Targets))
	for _, cell := range e.Targets {
		name := cmp.Or(cell.Cluster, cell.Namespace)
		if cell.Revision != e.Revision {
			name += " (" + cmp.Or(cell.Revision, "nothing") + ")"
		}
		names = append(names, name)
	}
	return fmt.Sprintf("%d: %s", len(e.Targets), strings.Join(names, ", "))
}

// passedTold names the gates that the revision has passed.
func passedTold(all []Gate) string {
	var passed []string
	for _, gate := range all {
		if gate.State == gatePassed && gate.Kind != "strategy" && gate.Kind != "approval" {
			passed = append(passed, gate.Label)
		}
	}
	return strings.Join(passed, ", ")
}

// approvalsTold says who has approved a promotion, and how many more approvals are needed.
func approvalsTold(p *pipelinesv1alpha1.PromotionStatus, how *pipelinesv1alpha1.Promotion) string {
	if votes := pipeline.VotesFor(how, p); p.Approval == nil && (votes.Quorum > 1 || len(votes.Approvers) > 0) {
		return "It has " + votes.Told() + "."
	}
	if p.Approval == nil {
		return "Not approved yet. One approval is enough."
	}
	return decided(string(p.Approval.Decision), p.Approval) + "."
}

// afterApproval says what happens after the approval.
func afterApproval(g gates) string {
	for _, gate := range g.all() {
		if (gate.Kind == "soak" || gate.Kind == "window" || gate.Kind == "hold") && (gate.State == gateCounting || gate.State == gateHeld) {
			return fmt.Sprintf("It waits at the gate %s first: %s", gate.Label, gate.Detail)
		}
	}
	switch {
	case g.how == nil:
		return "No promotion strategy."
	case g.how.Strategy.PullRequest != nil:
		return "A pull request to " + withoutUser(g.how.Strategy.PullRequest.URL)
	case g.how.Strategy.Notification != nil:
		return "A notification; its receiver makes the change."
	case g.how.Strategy.Installation != nil:
		return "The installations change, and their jobs start."
	}
	return "No promotion strategy."
}

// changes returns the fields that the promotion writes, as far as the pipeline itself shows them.
func (b *board) changes(i int, e Environment, p *pipelinesv1alpha1.PromotionStatus, how *pipelinesv1alpha1.Promotion) []FieldShift {
	value := cmp.Or(p.Value, p.Revision)
	switch {
	case how != nil && how.Strategy.PullRequest != nil:
		request := how.Strategy.PullRequest
		return []FieldShift{{
			Object: withoutUser(request.URL) + ", branch " + request.BaseBranch,
			Field:  fmt.Sprintf(`values marked {"$promotion": "%s:%s:%s"}`, b.ref.Namespace, b.ref.Name, e.Name),
			Before: e.Revision, After: value,
		}}
	case how != nil && how.Strategy.Installation != nil:
		shifts := []FieldShift{}
		for at, cell := range e.Targets {
			shifts = append(shifts, FieldShift{
				Object: b.installationTold(cell), Field: b.revisionField(b.p.Spec.Environments[i].Targets[at]), Before: cell.Revision, After: value,
			})
		}
		return shifts
	}
	return []FieldShift{}
}

func (b *board) installationTold(cell TargetCell) string {
	text := fmt.Sprintf("Installation %s/%s", cell.Namespace, b.p.Spec.AppRef.Name)
	if cell.Cluster != "" {
		text += " on " + cell.Cluster
	}
	return text
}

// revisionField returns the field with the revision of an installation. On another cluster it is unknown, so the usual one is named.
func (b *board) revisionField(target pipelinesv1alpha1.Target) string {
	node := b.installationOf(pipelinesv1alpha1.TargetStatus{
		ClusterAppRef: pipelinesv1alpha1.ClusterAppReference{AppReference: b.p.Spec.AppRef, ClusterRef: target.ClusterRef},
		Namespace:     target.Namespace,
	})
	if node != nil {
		if object, ok := node.Object.(*lsv1alpha1.Installation); ok && object.Spec.RevisionField != "" {
			return "spec." + object.Spec.RevisionField
		}
	}
	return "spec.componentDescriptor.ref.version"
}
