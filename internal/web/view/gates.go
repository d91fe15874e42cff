// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	pipelinesv1alpha1 "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/pipeline"
)

// States of a gate.
const (
	gateNotReached = "not-reached"
	gateCounting   = "counting"
	gatePassed     = "passed"
	gateYours      = "yours"
	gateOthers     = "others"
	gateFailed     = "failed"
	gateHeld       = "held"
)

// gates are what a revision must pass on its way from one environment to the next.
type gates struct {
	board        *board
	spec, source pipelinesv1alpha1.Environment
	before, card Environment
	promotion    *pipelinesv1alpha1.PromotionStatus
	how          *pipelinesv1alpha1.Promotion
	// holds are the current ones, later those after the approval, if one is needed.
	holds, later []pipelinesv1alpha1.Hold
}

func (b *board) gatesTo(i int, before, card Environment) gates {
	spec := b.p.Spec.Environments[i]
	g := gates{
		board: b, spec: spec, source: b.p.Spec.Environments[i-1], before: before, card: card,
		promotion: b.p.Status.Environments[spec.Name].Promotion, how: b.p.Spec.PromotionTo(spec), holds: b.holdsAt(spec.Name),
	}
	g.later = g.holds
	if g.waits(pipelinesv1alpha1.PromotionUnapproved) {
		g.later = b.holdsIfApproved(spec.Name, g.promotion)
	}
	return g
}

// holdsIfApproved returns what would hold a promotion after an approval, according to the plan.
func (b *board) holdsIfApproved(environment string, promotion *pipelinesv1alpha1.PromotionStatus) []pipelinesv1alpha1.Hold {
	ask := pipeline.Ask{Environment: environment, Revision: promotion.Revision, Run: promotion.Run}
	approved, _, err := b.after(approvedByAll, ask)
	if err != nil {
		return b.holdsAt(environment) // The promotion is about to be superseded: then nothing follows the approval.
	}
	return approved.holdsAt(environment)
}

// approvedByAll is an approval that suffices, whatever the pipeline demands.
func approvedByAll(p *pipelinesv1alpha1.Pipeline, ask pipeline.Ask) (pipeline.Answer, error) {
	for _, how := range demands(p) {
		how.Approval = nil
	}
	return pipeline.Approve(p, ask)
}

// demands returns all promotion blocks of a pipeline.
func demands(p *pipelinesv1alpha1.Pipeline) []*pipelinesv1alpha1.Promotion {
	all := []*pipelinesv1alpha1.Promotion{p.Spec.Promotion}
	for _, e := range p.Spec.Environments {
		all = append(all, e.Promotion)
	}
	return slices.DeleteFunc(all, func(how *pipelinesv1alpha1.Promotion) bool { return how == nil })
}

// after returns the board as it would be after a decision, and the controller's answer to that.
func (b *board) after(decide decide, ask pipeline.Ask) (*board, pipeline.Answer, error) {
	next := *b
	next.p, ask.Time, ask.Anyone = b.p.DeepCopy(), b.scene.Now, true
	answer, err := decide(next.p, ask)
	if err != nil {
		return b, answer, err
	}
	next.holds = holdsOf(b.scene, next.p)
	return &next, answer, nil
}

// waits reports whether the promotion of the coming revision is in one of the states.
func (g gates) waits(states ...pipelinesv1alpha1.PromotionState) bool {
	return g.promotion != nil && slices.Contains(states, g.promotion.State)
}

// begun reports whether the promotion has passed the gates that keep it from starting.
func (g gates) begun() bool {
	return g.promotion != nil && !g.waits(
		pipelinesv1alpha1.PromotionUnapproved, pipelinesv1alpha1.PromotionRejected, pipelinesv1alpha1.PromotionUnattempted,
		pipelinesv1alpha1.PromotionSuperseded,
	) && (g.card.Coming == "" || g.promotion.Revision == g.card.Coming)
}

func (g gates) all() []Gate {
	all := []Gate{g.health()}
	if g.source.MinHealthy != "" {
		all = append(all, g.soak())
	}
	if len(g.spec.Windows) > 0 {
		all = append(all, g.window())
	}
	if g.how != nil && g.how.Manual {
		all = append(all, g.approval())
	}
	return append(append(all, g.stops()...), g.strategy())
}

func find(holds []pipelinesv1alpha1.Hold, reason pipelinesv1alpha1.HoldReason) *pipelinesv1alpha1.Hold {
	i := slices.IndexFunc(holds, func(h pipelinesv1alpha1.Hold) bool { return h.Reason == reason })
	if i < 0 {
		return nil
	}
	return &holds[i]
}

func untilOf(hold *pipelinesv1alpha1.Hold) *time.Time {
	if hold.Until == nil {
		return nil
	}
	return timeOf(hold.Until.Time)
}

// health is passed when the previous environment is healthy at the revision.
func (g gates) health() Gate {
	gate := Gate{Kind: "health", Label: g.source.Name + " is healthy", State: gateNotReached}
	switch tone := g.before.Status.Tone; {
	case g.begun() || tone == Done && (g.card.Coming == "" || g.before.Revision == g.card.Coming):
		gate.State, gate.Since = gatePassed, g.before.Since
	case tone == Failed || tone == Unknown:
		gate.State, gate.Since, gate.Detail = gateFailed, g.before.Status.Since, g.before.Status.Message
		gate.Reference = g.before.Status.Reference
	case g.card.Coming != "":
		gate.State, gate.Since, gate.Detail = gateCounting, g.before.Status.Since, g.before.Status.Message
	}
	return gate
}

// soak is passed when the previous environment has been healthy for long enough.
func (g gates) soak() Gate {
	gate := Gate{Kind: "soak", Label: "Soak " + string(g.source.MinHealthy), State: gateNotReached}
	length, err := g.source.MinHealthy.Parse()
	if err != nil {
		gate.State, gate.Detail = gateFailed, err.Error()
		return gate
	}
	hold := find(g.later, pipelinesv1alpha1.HoldSoaking)
	switch {
	case g.promotion != nil && g.promotion.Expedited:
		gate.State, gate.Detail = gatePassed, "skipped by a request to promote now"
	case hold != nil:
		gate.State, gate.Since, gate.Until, gate.Detail = gateCounting, g.before.Since, untilOf(hold), hold.Message
	case g.before.Since == nil || g.before.Status.Tone != Done:
		if g.begun() {
			gate.State = gatePassed
		}
	case g.begun() || !g.board.scene.Now.Before(g.before.Since.Add(length)):
		gate.State, gate.Since = gatePassed, timeOf(g.before.Since.Add(length))
	}
	return gate
}

// window is passed while promotions may start.
func (g gates) window() Gate {
	gate := Gate{Kind: "window", Label: "Window", State: gateNotReached, Detail: windowsInWords(g.spec.Windows)}
	hold := find(g.later, pipelinesv1alpha1.HoldOutsideWindow)
	switch {
	case g.promotion != nil && g.promotion.Expedited:
		gate.State, gate.Detail = gatePassed, "skipped by a request to promote now"
	case hold != nil:
		gate.State, gate.Since, gate.Until, gate.Detail = gateCounting, timeOf(hold.Since.Time), untilOf(hold), hold.Message
	case g.begun():
		gate.State = gatePassed
	case g.card.Coming != "" && g.waits(pipelinesv1alpha1.PromotionUnapproved, pipelinesv1alpha1.PromotionUnattempted):
		gate.State, gate.Detail = gatePassed, "it is open: "+gate.Detail
	}
	return gate
}

// windowsInWords says when promotions may start.
func windowsInWords(windows []pipelinesv1alpha1.Window) string {
	var all []string
	for _, w := range windows {
		words := fmt.Sprintf("%s for %s", w.Schedule, w.Duration)
		if w.Kind == pipelinesv1alpha1.WindowDeny {
			words = "not " + words
		}
		all = append(all, words+", "+cmp.Or(w.TimeZone, "UTC"))
	}
	return strings.Join(all, "; ")
}

// approval is the gate that waits for a person.
func (g gates) approval() Gate {
	gate := Gate{Kind: "approval", Label: "Approval", State: gateNotReached}
	p := g.promotion
	if p == nil || g.card.Coming != "" && p.Revision != g.card.Coming {
		return gate
	}
	switch {
	case p.State == pipelinesv1alpha1.PromotionUnapproved && g.board.mayDecide():
		gate = g.vote(gate)
	case p.State == pipelinesv1alpha1.PromotionUnapproved:
		gate.State, gate.Since, gate.Detail = gateOthers, startOf(p), g.board.decisionDenied()
	case p.State == pipelinesv1alpha1.PromotionRejected:
		gate.State, gate.Since = gateFailed, startOf(p)
		gate.Detail = decided("rejected", p.Approval)
	case p.Approval != nil:
		gate.State, gate.Since = gatePassed, timeOf(p.Approval.Time.Time)
		gate.Detail = decided("approved", p.Approval)
	case g.begun():
		gate.State = gatePassed
	}
	return gate
}

// vote is the gate that waits for the reader, or for one of several approvers.
func (g gates) vote(gate Gate) Gate {
	gate.Label, gate.State, gate.Since = "Your approval", gateYours, startOf(g.promotion)
	if votes := pipeline.VotesFor(g.how, g.promotion); votes.Quorum > 1 || len(votes.Approvers) > 0 {
		gate.Label, gate.Detail = "Approval", votes.Told()
	}
	return gate
}

// decided says who has decided, and why.
func decided(what string, approval *pipelinesv1alpha1.Approval) string {
	if approval == nil {
		return what
	}
	text := what
	if who := cmp.Or(approval.By, string(approval.Method)); who != "" {
		text += " by " + who
	}
	if approval.Message != "" {
		text += ": " + approval.Message
	}
	return text
}

// startOf returns when a promotion reached its state.
func startOf(p *pipelinesv1alpha1.PromotionStatus) *time.Time {
	if p.StateTransitionTime != nil {
		return timeOf(p.StateTransitionTime.Time)
	}
	return timeOf(p.StartTime.Time)
}

// ownGates are the holds that other gates show.
var ownGates = []pipelinesv1alpha1.HoldReason{
	pipelinesv1alpha1.HoldSoaking, pipelinesv1alpha1.HoldOutsideWindow, pipelinesv1alpha1.HoldWaitingForApproval,
	pipelinesv1alpha1.HoldWaitingForMerge, pipelinesv1alpha1.HoldRetrying, pipelinesv1alpha1.HoldFailed, pipelinesv1alpha1.HoldAbandoned,
	pipelinesv1alpha1.HoldRejected, pipelinesv1alpha1.HoldRolledBack, pipelinesv1alpha1.HoldStalled, pipelinesv1alpha1.HoldRollingOut,
	pipelinesv1alpha1.HoldUnsettled, pipelinesv1alpha1.HoldNoStrategy,
}

// stops are what else holds the promotion: user holds, and what must be corrected.
func (g gates) stops() []Gate {
	var all []Gate
	for _, hold := range append(g.board.holdsAt(""), g.holds...) {
		if slices.Contains(ownGates, hold.Reason) {
			continue
		}
		gate := Gate{
			Kind: "hold", Label: string(hold.Reason), State: gateHeld, Since: timeOf(hold.Since.Time), Until: untilOf(&hold), Detail: hold.Message,
			Reference: g.board.referenceOf(hold),
		}
		switch tonesOfHolds[hold.Reason] {
		case Failed, Unknown:
			gate.State = gateFailed
		case Works:
			gate.State = gateCounting
		}
		all = append(all, gate)
	}
	return all
}

// strategy is the gate for how the revision gets into the environment.
func (g gates) strategy() Gate {
	gate := Gate{Kind: "strategy", Label: strategyLabel(g.how), State: gateNotReached}
	p := g.promotion
	if g.how == nil {
		gate.State, gate.Detail = gateFailed, fmt.Sprintf("environment %s has no promotion strategy", g.spec.Name)
		return gate
	}
	if p == nil || g.card.Coming != "" && p.Revision != g.card.Coming {
		return gate
	}
	if state := strategyStates[p.State]; state != "" {
		gate.State, gate.Since = state, startOf(p)
	}
	for _, hold := range g.holds {
		switch hold.Reason {
		case pipelinesv1alpha1.HoldRetrying:
			gate.State, gate.Until, gate.Detail, gate.Reference = gateCounting, untilOf(&hold), hold.Message, g.board.referenceOf(hold)
		case pipelinesv1alpha1.HoldWaitingForMerge, pipelinesv1alpha1.HoldFailed, pipelinesv1alpha1.HoldAbandoned,
			pipelinesv1alpha1.HoldStalled, pipelinesv1alpha1.HoldRolledBack:
			gate.Detail, gate.Reference = hold.Message, g.board.referenceOf(hold)
		}
	}
	return gate
}

// strategyStates describe the progress of a promotion that has started.
var strategyStates = map[pipelinesv1alpha1.PromotionState]string{
	pipelinesv1alpha1.PromotionComplete:   gatePassed,
	pipelinesv1alpha1.PromotionSucceeded:  gatePassed,
	pipelinesv1alpha1.PromotionAttempting: gateCounting,
	pipelinesv1alpha1.PromotionCreated:    gateOthers,
	pipelinesv1alpha1.PromotionFailed:     gateFailed,
	pipelinesv1alpha1.PromotionAbandoned:  gateFailed,
	pipelinesv1alpha1.PromotionStalled:    gateFailed,
	pipelinesv1alpha1.PromotionRolledBack: gateFailed,
}

func strategyLabel(how *pipelinesv1alpha1.Promotion) string {
	switch {
	case how == nil:
		return "No strategy"
	case how.Strategy.PullRequest != nil:
		return "Pull request"
	case how.Strategy.Notification != nil:
		return "Notification"
	case how.Strategy.Installation != nil:
		return "Change of installations"
	}
	return "No strategy"
}
