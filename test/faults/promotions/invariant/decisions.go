// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// approvedFirst holds for all records of environments that need an approval.
func approvedFirst(evidence Evidence) []Violation {
	f := &findings{rule: "I11"}
	nonces := map[string]identity{}
	for _, s := range steps(evidence.History) {
		if s.wiped() {
			clear(nonces)
		}
		for name, e := range s.after.Status.Environments {
			if e.Promotion == nil {
				continue
			}
			checkApproval(f, s, evidence.Approved, name)
			checkNonce(f, s, nonces, name)
		}
	}
	return f.found
}

func checkApproval(f *findings, s step, given map[Approval]bool, name string) {
	p := s.after.Status.Environments[name].Promotion
	if !isManual(s.after, name) || !hasBegun(p) {
		return
	}
	switch {
	case p.Approval == nil || p.Approval.Decision != pipelines.DecisionApproved:
		f.add(s.version, "%s is %s without an approval", identify(name, p), p.State)
	case !given[Approval{name, p.Revision}]:
		f.add(s.version, "%s is %s by the approval %+v, which nobody has given for this revision", identify(name, p), p.State, *p.Approval)
	}
}

func hasBegun(p *pipelines.PromotionStatus) bool {
	return isOneOf(
		p.State,
		pipelines.PromotionAttempting,
		pipelines.PromotionFailed,
		pipelines.PromotionCreated,
		pipelines.PromotionSucceeded,
	) ||
		p.Attempts > 0
}

// checkNonce checks that a nonce stands for one decision of one person.
func checkNonce(f *findings, s step, nonces map[string]identity, name string) {
	p := s.after.Status.Environments[name].Promotion
	if p.Approval == nil || p.Approval.Nonce == "" {
		return
	}
	id := identify(name, p)
	if first, used := nonces[p.Approval.Nonce]; used && first != id {
		f.add(s.version, "nonce %s was used for %s and again for %s", p.Approval.Nonce, first, id)
		return
	}
	nonces[p.Approval.Nonce] = id
}

func isManual(p *pipelines.Pipeline, environment string) bool {
	for _, e := range p.Spec.Environments {
		if e.Name != environment {
			continue
		}
		if e.Promotion != nil {
			return e.Promotion.Manual
		}
		return p.Spec.Promotion != nil && p.Spec.Promotion.Manual
	}
	return false
}

// onGoodData holds for the write that records the start of an attempt: the basis of the decision is recorded beside it.
func onGoodData(evidence Evidence) []Violation {
	f := &findings{rule: "I12"}
	for _, s := range steps(evidence.History) {
		for i, environment := range s.after.Spec.Environments {
			p := s.after.Status.Environments[environment.Name].Promotion
			if i > 0 && begins(s, environment.Name, p) {
				checkData(f, s, i, p)
			}
		}
	}
	return f.found
}

// begins reports whether the write records a new attempt.
func begins(s step, name string, p *pipelines.PromotionStatus) bool {
	if p == nil || p.State != pipelines.PromotionAttempting {
		return false
	}
	before := s.promotionBefore(name)
	return before == nil || identify(name, before) != identify(name, p) || before.State != p.State || before.Attempts != p.Attempts
}

func checkData(f *findings, s step, index int, p *pipelines.PromotionStatus) {
	for j, environment := range s.after.Spec.Environments[:index+1] {
		targets := s.after.Status.Environments[environment.Name].Targets
		if len(targets) != len(environment.Targets) {
			f.add(s.version, "revision %s goes to %s although only %d of %d targets of %s have been seen",
				p.Revision, s.after.Spec.Environments[index].Name, len(targets), len(environment.Targets), environment.Name)
			continue
		}
		for _, t := range targets {
			switch {
			case t.UnreadableSince != nil:
				f.add(
					s.version,
					"revision %s goes to %s although a target of %s cannot be read: %s",
					p.Revision,
					s.after.Spec.Environments[index].Name,
					environment.Name,
					t.Error,
				)
			case j < index && (!t.Ready || t.Revision != p.Revision):
				f.add(s.version, "revision %s goes to %s although a target of %s is not healthy there: revision %q, ready %t, %s",
					p.Revision, s.after.Spec.Environments[index].Name, environment.Name, t.Revision, t.Ready, t.Error)
			}
		}
	}
}
