// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"slices"
	"strings"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// Votes are the approvals that count for a promotion under the current spec: at most one per approver, and only from listed ones if there
// is a list.
type Votes struct {
	// Given are the approvals that count, the oldest first.
	Given []pipelines.Approval
	// Quorum is how many are needed.
	Quorum int
	// Approvers are the only ones who may approve; if empty, any user with the right may.
	Approvers []pipelines.Approver
}

// VotesFor counts the approvals of a promotion.
func VotesFor(block *pipelines.Promotion, p *pipelines.PromotionStatus) Votes {
	v := Votes{Quorum: 1}
	if block != nil && block.Approval != nil {
		v.Quorum, v.Approvers = max(1, int(block.Approval.Quorum)), block.Approval.Approvers
	}
	for _, approval := range p.Approvals {
		if v.lists(voter(approval)) && !v.has(voter(approval)) {
			v.Given = append(v.Given, approval)
		}
	}
	return v
}

// Missing returns how many more approvals are needed.
func (v Votes) Missing() int { return max(0, v.Quorum-len(v.Given)) }

// Told describes who has approved, how many more approvals are needed, and who may give them.
func (v Votes) Told() string {
	var names []string
	for _, approval := range v.Given {
		names = append(names, voterName(voter(approval)))
	}
	text := fmt.Sprintf("%d of %d approvals", len(v.Given), v.Quorum)
	if len(names) > 0 {
		text += " (" + strings.Join(names, ", ") + ")"
	}
	if len(v.Approvers) == 0 {
		return text
	}
	var others []string
	for _, one := range v.Approvers {
		if !v.has(one) {
			others = append(others, voterName(one))
		}
	}
	if len(others) < v.Missing() {
		return text + ", which can never be enough: the pipeline requires more approvals than it lists approvers"
	}
	return text + ", missing: " + strings.Join(others, ", ")
}

// voter returns who approved. A key is not a user, though both may have the same name.
func voter(a pipelines.Approval) pipelines.Approver {
	if a.Method == pipelines.ApprovalWebhook || a.Method == pipelines.ApprovalLegacyWebhook {
		return pipelines.Approver{Key: a.By}
	}
	return pipelines.Approver{User: a.By}
}

func voterName(one pipelines.Approver) string {
	if one.Key != "" {
		return "key " + one.Key
	}
	return one.User
}

func (v Votes) has(one pipelines.Approver) bool {
	return slices.ContainsFunc(v.Given, func(a pipelines.Approval) bool { return voter(a) == one })
}

func (v Votes) lists(one pipelines.Approver) bool {
	return len(v.Approvers) == 0 || slices.Contains(v.Approvers, one)
}

// named reports whether it matters who approves.
func (v Votes) named() bool { return v.Quorum > 1 || len(v.Approvers) > 0 }

// refuse returns why an approval does not count; nil if it does.
func (v Votes) refuse(ask Ask) error {
	one := voter(pipelines.Approval{By: ask.By, Method: ask.Method})
	switch {
	case !v.named() || ask.Anyone:
		return nil
	case ask.By == "" || len(ask.By) > maxOldMessage:
		return &Refusal{RefusedNotApprover, fmt.Sprintf(
			"approvals for environment %s need a user name of at most %d bytes: use espalier approve, or set the user in the annotation %s",
			ask.Environment, maxOldMessage, RequesterAnnotationPrefix+AnnotationSuffix(ask.Environment))}
	case !v.lists(one):
		return &Refusal{RefusedNotApprover, fmt.Sprintf(
			"%s is not among the approvers of environment %s: %s", voterName(one), ask.Environment, v.Told())}
	}
	return nil
}

// take records an approval and reports whether there are enough now. Approvals that no longer count are dropped.
func (v Votes) take(e *pipelines.EnvironmentStatus, ask Ask) (next Votes, enough bool) {
	decision := decisionOf(ask, pipelines.DecisionApproved)
	next = v
	next.Given = slices.Concat(v.Given, []pipelines.Approval{decision})
	if v.Quorum > 1 {
		e.Promotion.Approvals = next.Given
	}
	if next.Missing() == 0 {
		e.Promotion.Approval = &decision
	}
	return next, next.Missing() == 0
}

// voteOn approves a promotion that waits for approval. It continues once there are enough approvals.
func voteOn(p *pipelines.Pipeline, e *pipelines.EnvironmentStatus, ask Ask) (Answer, error) {
	votes := VotesFor(blockOf(p, ask.Environment), e.Promotion)
	if err := votes.refuse(ask); err != nil {
		return Answer{}, err
	}
	what := fmt.Sprintf("promotion of revision %s to environment %s", e.Promotion.Revision, ask.Environment)
	if one := voter(pipelines.Approval{By: ask.By, Method: ask.Method}); votes.has(one) && !ask.Anyone {
		return Answer{
			Already: true, Promotion: *e.Promotion, Message: fmt.Sprintf("%s has already approved the %s, which has %s", voterName(one), what, votes.Told()),
		}, nil
	}
	votes, enough := votes.take(e, ask)
	message := fmt.Sprintf("%s is approved", what)
	if enough {
		*e = moveTo(*e, pipelines.PromotionUnattempted, seconds(ask.Time))
	} else {
		message = fmt.Sprintf("%s has %s: %d more must approve", what, votes.Told(), votes.Missing())
	}
	p.Status.Environments[ask.Environment] = *e
	return Answer{Promotion: *e.Promotion, Message: message}, nil
}

// voteAtOnce records the approval that a request to promote now implies. It is only one approval, and cannot replace the others.
func voteAtOnce(p *pipelines.Pipeline, e *pipelines.EnvironmentStatus, ask Ask) error {
	block := blockOf(p, ask.Environment)
	if block == nil || !block.Manual {
		decide(e, ask, pipelines.DecisionApproved)
		return nil
	}
	votes := VotesFor(block, e.Promotion)
	if err := votes.refuse(ask); err != nil {
		return err
	}
	if votes.has(voter(pipelines.Approval{By: ask.By, Method: ask.Method})) && !ask.Anyone || votes.Missing() > 1 {
		return &Refusal{RefusedNotApprover, fmt.Sprintf(
			"the promotion of revision %s to environment %s has %s: \"promote\" works after all other approvals, or as the last one",
			e.Promotion.Revision, ask.Environment, votes.Told())}
	}
	votes.take(e, ask)
	return nil
}

func blockOf(p *pipelines.Pipeline, environment string) *pipelines.Promotion {
	return p.Spec.PromotionTo(environmentOf(p, environment))
}
