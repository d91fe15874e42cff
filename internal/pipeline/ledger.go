// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// record is what the status records of one environment, with the news of its transitions. It is a value: a transition returns a new one and
// modifies neither its input nor anything that the input points to.
type record struct {
	pipelines.EnvironmentStatus
	name string
	news []News
}

func (r record) tell(news News) record {
	r.news = append(slices.Clip(r.news), news)
	return r
}

// edit changes a copy of the current promotion.
func (r record) edit(change func(*pipelines.PromotionStatus)) record {
	r.Promotion = r.Promotion.DeepCopy()
	change(r.Promotion)
	return r
}

// move changes the state of the promotion and reports the transition.
func (r record) move(to pipelines.PromotionState, why string, now metav1.Time) record {
	from := r.Promotion.State
	if from == to {
		return r
	}
	r.EnvironmentStatus = moveTo(r.EnvironmentStatus, to, now)
	return r.tell(transition(r, from, why))
}

// replace makes another promotion the current one; the previous one moves into the history.
func (r record) replace(p pipelines.PromotionStatus, why string, now metav1.Time) record {
	r.EnvironmentStatus = keepInHistory(r.EnvironmentStatus)
	r.Promotion = &p
	r.EnvironmentStatus = moveTo(r.EnvironmentStatus, p.State, now)
	return r.tell(transition(r, "", why))
}

// ledger is what the status records of all environments: those of the spec first, in its order, then removed ones by name. Like a record,
// it is a value.
type ledger struct {
	records []record
	// news are the transitions of all stages so far, in their order.
	news []News
}

// openLedger returns what is recorded, before the facts are applied. Every environment of the spec has a record, unless the pipeline is
// being deleted: then no new ones are added.
func openLedger(f facts) ledger {
	var l ledger
	for _, v := range f.views {
		if e, found := f.Status.Environments[v.name()]; (found || !f.Deleted) && !v.duplicate {
			l.records = append(l.records, record{EnvironmentStatus: e, name: v.name()})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Status.Environments)) {
		if f.index(name) < 0 {
			l.records = append(l.records, record{EnvironmentStatus: f.Status.Environments[name], name: name})
		}
	}
	return l
}

// of returns the record of an environment; an empty one if there is none.
func (l ledger) of(name string) record {
	for _, r := range l.records {
		if r.name == name {
			return r
		}
	}
	return record{name: name}
}

// each applies a transition to every environment.
func (l ledger) each(transition func(record) record) ledger {
	next := ledger{records: make([]record, 0, len(l.records)), news: slices.Clip(l.news)}
	for _, r := range l.records {
		r = transition(r)
		next.news, r.news = append(next.news, r.news...), nil
		next.records = append(next.records, r)
	}
	return next
}

// along applies a transition at each step of the walk. A step with a duplicate name has no separate record.
func (l ledger) along(steps []step, transition func(step, record) record) ledger {
	return l.each(func(r record) record {
		if i := slices.IndexFunc(steps, func(s step) bool { return s.name() == r.name }); i >= 0 {
			return transition(steps[i], r)
		}
		return r
	})
}

// tell adds news that do not belong to one environment.
func (l ledger) tell(news ...News) ledger {
	l.news = slices.Concat(l.news, news)
	return l
}

// environments returns the records as the status stores them.
func (l ledger) environments() map[string]pipelines.EnvironmentStatus {
	if len(l.records) == 0 {
		return nil
	}
	all := make(map[string]pipelines.EnvironmentStatus, len(l.records))
	for _, r := range l.records {
		all[r.name] = r.EnvironmentStatus
	}
	return all
}

// moveTo is the part of a transition that the controller and the approval server share.
func moveTo(e pipelines.EnvironmentStatus, to pipelines.PromotionState, now metav1.Time) pipelines.EnvironmentStatus {
	p := *e.Promotion
	p.State, p.StateTransitionTime = to, &now
	e.WaitingApproval.Revision = ""
	if to == pipelines.PromotionUnapproved {
		e.WaitingApproval.Revision = p.Revision
	}
	if to != pipelines.PromotionFailed {
		p.NextAttemptTime = nil
	}
	if to != pipelines.PromotionFailed && to != pipelines.PromotionStalled && to != pipelines.PromotionRolledBack {
		p.Error = nil
	}
	if to == pipelines.PromotionComplete {
		p.CompletionTime = &now
	}
	e.Promotion = &p
	return e
}

// alarming are the states that are reported as warnings.
var alarming = map[pipelines.PromotionState]bool{
	pipelines.PromotionFailed: true, pipelines.PromotionAbandoned: true, pipelines.PromotionRejected: true,
	pipelines.PromotionStalled: true, pipelines.PromotionRolledBack: true,
}

// transition reports that the promotion of an environment has changed from another state to its current one.
func transition(r record, from pipelines.PromotionState, why string) News {
	p := r.Promotion
	return News{
		Warning: alarming[p.State], Reason: "Promotion" + string(p.State),
		Message:     shorten(fmt.Sprintf("promotion of revision %s to environment %s: %s", p.Revision, r.name, why), maxMessage),
		Environment: r.name, Strategy: p.Strategy, From: from, To: p.State,
	}
}

// keepInHistory moves the current promotion into the bounded history.
func keepInHistory(e pipelines.EnvironmentStatus) pipelines.EnvironmentStatus {
	if e.Promotion == nil {
		return e
	}
	old := *e.Promotion.DeepCopy()
	if old.Error != nil {
		old.Error.Message = shorten(old.Error.Message, maxOldMessage)
		old.Error.Inputs = ""
	}
	if old.PullRequest != nil {
		old.PullRequest.Checks = nil
	}
	e.History = slices.Concat([]pipelines.PromotionStatus{old}, e.History[:min(len(e.History), pipelines.MaxHistory-1)])
	e.Promotion = nil
	return e
}

// newPromotion returns the record of a promotion that has become necessary.
func newPromotion(spec pipelines.PipelineSpec, environment pipelines.Environment, of Identity, now metav1.Time) pipelines.PromotionStatus {
	block := spec.PromotionTo(environment)
	strategy, _ := strategyOf(block)
	record := pipelines.PromotionStatus{
		Revision: of.Revision, Run: of.Run, Retries: of.Retries, Key: of.Key(), Strategy: strategy,
		State: pipelines.PromotionUnattempted, StartTime: now,
	}
	if value := Value(spec.AppRef.Kind, of.Revision); value != of.Revision {
		record.Value = value
	}
	if block != nil && block.Manual {
		record.State = pipelines.PromotionUnapproved
	}
	return record
}

// Bounds of texts in the status, in bytes.
const (
	maxMessage    = 1000
	maxOldMessage = 250
)

// shorten truncates text that is too long.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	// Truncation may split a character.
	return strings.ToValidUTF8(text[:limit-3], "") + "..."
}
