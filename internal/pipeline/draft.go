// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// draft is a status in the making: it begins as the recorded one and ends as what the facts make of it.
type draft struct {
	o        Observed
	views    []view
	pipeline *pipelines.Pipeline
	// now is in whole seconds, as the API stores times.
	now  metav1.Time
	news []News
	// steps is what the walk has found, once it was made.
	steps []step
}

func newDraft(o Observed) *draft {
	p := &pipelines.Pipeline{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, Generation: o.Generation}}
	p.Spec, p.Status = o.Spec, *o.Status.DeepCopy()
	if p.Status.Environments == nil {
		p.Status.Environments = map[string]pipelines.EnvironmentStatus{}
	}
	return &draft{o: o, views: views(o), pipeline: p, now: metav1.NewTime(o.Now.UTC().Truncate(time.Second))}
}

func (d *draft) status() *pipelines.PipelineStatus { return &d.pipeline.Status }

// environment returns what is recorded of an environment; put stores it again.
func (d *draft) environment(name string) pipelines.EnvironmentStatus {
	return d.status().Environments[name]
}

func (d *draft) put(name string, e pipelines.EnvironmentStatus) { d.status().Environments[name] = e }

// change changes what is recorded of an environment.
func (d *draft) change(name string, change func(*pipelines.EnvironmentStatus)) {
	e := d.environment(name)
	change(&e)
	d.put(name, e)
}

// recorded are the names of all environments in the status, those of the spec first and in its order.
func (d *draft) recorded() []string {
	var names []string
	for _, v := range d.views {
		if _, found := d.status().Environments[v.name()]; found && !slices.Contains(names, v.name()) {
			names = append(names, v.name())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.status().Environments)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// move brings the promotion of an environment into another state, and tells about it.
func (d *draft) move(name string, to pipelines.PromotionState, why string) {
	d.change(name, func(e *pipelines.EnvironmentStatus) {
		from := e.Promotion.State
		if from == to {
			return
		}
		moveRecord(e, to, d.now)
		d.tell(name, from, e.Promotion, why)
	})
}

// moveRecord is the part of a transition that everybody makes, also the approval server.
func moveRecord(e *pipelines.EnvironmentStatus, to pipelines.PromotionState, now metav1.Time) {
	p := e.Promotion
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
}

// alarming states are told as warnings.
var alarming = map[pipelines.PromotionState]bool{
	pipelines.PromotionFailed: true, pipelines.PromotionAbandoned: true, pipelines.PromotionRejected: true,
	pipelines.PromotionStalled: true, pipelines.PromotionRolledBack: true,
}

func (d *draft) tell(name string, from pipelines.PromotionState, p *pipelines.PromotionStatus, why string) {
	d.news = append(d.news, News{
		Warning: alarming[p.State], Reason: "Promotion" + string(p.State),
		Message:     shorten(fmt.Sprintf("promotion of revision %s to environment %s: %s", p.Revision, name, why), maxMessage),
		Environment: name, Strategy: p.Strategy, From: from, To: p.State,
	})
}

// replace makes another promotion the current one of an environment; the one before goes into the history.
func (d *draft) replace(name string, p pipelines.PromotionStatus, why string) {
	d.change(name, func(e *pipelines.EnvironmentStatus) {
		keepInHistory(e)
		e.Promotion = &p
		moveRecord(e, p.State, d.now)
	})
	d.tell(name, "", &p, why)
}

// keepInHistory moves the current promotion into the history, which stays bounded.
func keepInHistory(e *pipelines.EnvironmentStatus) {
	if e.Promotion == nil {
		return
	}
	old := *e.Promotion.DeepCopy()
	if old.Error != nil {
		old.Error.Message = shorten(old.Error.Message, maxOldMessage)
		old.Error.Inputs = ""
	}
	e.History = slices.Insert(e.History, 0, old)
	e.History = e.History[:min(len(e.History), pipelines.MaxHistory)]
	e.Promotion = nil
}

// newPromotion is the record of a promotion that has become necessary.
func newPromotion(p *pipelines.Pipeline, environment pipelines.Environment, of Identity, now metav1.Time) pipelines.PromotionStatus {
	block := p.Spec.PromotionTo(environment)
	strategy, _ := strategyOf(block)
	record := pipelines.PromotionStatus{
		Revision: of.Revision, Run: of.Run, Retries: of.Retries, Key: of.Key(), Strategy: strategy,
		State: pipelines.PromotionUnattempted, StartTime: now,
	}
	if value := Value(p.Spec.AppRef.Kind, of.Revision); value != of.Revision {
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
	return validUTF8(text[:limit-3]) + "..."
}
