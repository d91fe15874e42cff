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

// record is what is remembered of one environment, with the news of how it has come to be so. It is a value: a transition returns
// another one, and changes neither the one that it was given nor what that points to.
type record struct {
	pipelines.EnvironmentStatus
	name string
	news []News
}

func (r record) tell(news News) record {
	r.news = append(slices.Clip(r.news), news)
	return r
}

// edit changes the current promotion, in a copy.
func (r record) edit(change func(*pipelines.PromotionStatus)) record {
	r.Promotion = r.Promotion.DeepCopy()
	change(r.Promotion)
	return r
}

// move brings the promotion into another state, and tells about it.
func (r record) move(to pipelines.PromotionState, why string, now metav1.Time) record {
	from := r.Promotion.State
	if from == to {
		return r
	}
	r.EnvironmentStatus = moveTo(r.EnvironmentStatus, to, now)
	return r.tell(transition(r, from, why))
}

// replace makes another promotion the current one; the one before goes into the history.
func (r record) replace(p pipelines.PromotionStatus, why string, now metav1.Time) record {
	r.EnvironmentStatus = keepInHistory(r.EnvironmentStatus)
	r.Promotion = &p
	r.EnvironmentStatus = moveTo(r.EnvironmentStatus, p.State, now)
	return r.tell(transition(r, "", why))
}

// ledger is what is remembered of all environments: those of the spec first and in its order, then those that are gone, by name. It is a
// value as a record is.
type ledger struct {
	records []record
	// news are what all transitions have told so far, in the order of the stages.
	news []News
}

// openLedger begins with what is recorded, before anything is made of the facts. Every environment of the spec has a record, unless the
// pipeline is being deleted: then nothing is taken up any more.
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

// of returns the record of an environment; without anything in it if there is none.
func (l ledger) of(name string) record {
	for _, r := range l.records {
		if r.name == name {
			return r
		}
	}
	return record{name: name}
}

// each makes a transition in every environment.
func (l ledger) each(transition func(record) record) ledger {
	next := ledger{records: make([]record, 0, len(l.records)), news: slices.Clip(l.news)}
	for _, r := range l.records {
		r = transition(r)
		next.news, r.news = append(next.news, r.news...), nil
		next.records = append(next.records, r)
	}
	return next
}

// along makes a transition at each step of the walk. One with the name of another has no record of its own.
func (l ledger) along(steps []step, transition func(step, record) record) ledger {
	return l.each(func(r record) record {
		if i := slices.IndexFunc(steps, func(s step) bool { return s.name() == r.name }); i >= 0 {
			return transition(steps[i], r)
		}
		return r
	})
}

// tell adds news that are not those of one environment.
func (l ledger) tell(news ...News) ledger {
	l.news = slices.Concat(l.news, news)
	return l
}

// environments are the records as the status holds them.
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

// moveTo is the part of a transition that everybody makes, also the approval server.
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

// alarming states are told as warnings.
var alarming = map[pipelines.PromotionState]bool{
	pipelines.PromotionFailed: true, pipelines.PromotionAbandoned: true, pipelines.PromotionRejected: true,
	pipelines.PromotionStalled: true, pipelines.PromotionRolledBack: true,
}

// transition tells that the promotion of an environment has come from another state into its own.
func transition(r record, from pipelines.PromotionState, why string) News {
	p := r.Promotion
	return News{
		Warning: alarming[p.State], Reason: "Promotion" + string(p.State),
		Message:     shorten(fmt.Sprintf("promotion of revision %s to environment %s: %s", p.Revision, r.name, why), maxMessage),
		Environment: r.name, Strategy: p.Strategy, From: from, To: p.State,
	}
}

// keepInHistory moves the current promotion into the history, which stays bounded.
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

// newPromotion is the record of a promotion that has become necessary.
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

// shorten cuts a text that is too long.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	// A cut may leave a part of a character.
	return strings.ToValidUTF8(text[:limit-3], "") + "..."
}
