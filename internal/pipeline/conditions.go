// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// Reasons of conditions, beside those of the API and those of holds.
const (
	reasonPromoting = "Promoting"
)

// stuck holds end only if somebody does something about them.
var stuck = map[pipelines.HoldReason]bool{
	pipelines.HoldFailed: true, pipelines.HoldAbandoned: true, pipelines.HoldRejected: true, pipelines.HoldRolledBack: true,
	pipelines.HoldStalled: true, pipelines.HoldInvalid: true,
}

// idle holds are how the pipeline is meant to be.
var idle = map[pipelines.HoldReason]bool{pipelines.HoldNoStrategy: true, pipelines.HoldNoTargets: true}

// describe writes the conditions. Ready is always there; the others only while they are true, as kstatus expects.
func (d *draft) describe() {
	d.setCondition(d.readiness())
	d.set(pipelines.ConditionPromotionPending, d.pending())
	moving, halted := d.progress()
	d.set(pipelines.ConditionReconciling, moving)
	d.set(pipelines.ConditionStalled, halted)
}

// told is what a condition says; nil if it is not there.
type told struct{ reason, message string }

func (d *draft) set(kind string, t *told) {
	if t == nil {
		meta.RemoveStatusCondition(&d.status().Conditions, kind)
		return
	}
	d.setCondition(metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: t.reason, Message: t.message})
}

func (d *draft) setCondition(c metav1.Condition) {
	c.ObservedGeneration, c.LastTransitionTime = d.o.Generation, d.now
	meta.SetStatusCondition(&d.status().Conditions, c)
}

// readiness says whether all targets can be read, and whether nothing has come to a bad end.
func (d *draft) readiness() metav1.Condition {
	c := metav1.Condition{
		Type: pipelines.ConditionReady, Status: metav1.ConditionTrue, Reason: pipelines.ReasonReconciliationSucceeded, Message: "All clusters checked",
	}
	for _, v := range d.views {
		i := slices.IndexFunc(v.facts.Targets, func(t Target) bool { return !t.Readable() })
		if i < 0 {
			continue
		}
		c.Status, c.Reason = metav1.ConditionFalse, v.facts.Targets[i].Problem.Reason
		if c.Reason == "" {
			c.Reason = pipelines.ReasonTargetNotReadable
		}
		c.Message = shorten(fmt.Sprintf("environment %s: %s", v.name(), v.unreadable()), maxMessage)
		return c
	}
	if i := slices.IndexFunc(d.status().Holds, func(h pipelines.Hold) bool { return stuck[h.Reason] }); i >= 0 {
		t := toldOf(d.status().Holds[i])
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, t.reason, t.message
	}
	return c
}

// toldOf is what a condition says of a hold.
func toldOf(hold pipelines.Hold) *told {
	t := &told{string(hold.Reason), hold.Message}
	if hold.Environment != "" {
		t.message = shorten(fmt.Sprintf("environment %s: %s", hold.Environment, hold.Message), maxMessage)
	}
	return t
}

// pending says why the first environment has not settled.
func (d *draft) pending() *told {
	if len(d.steps) == 0 || d.steps[0].verdict != verdictUnsettled {
		return nil
	}
	g := firstHold(d.steps[0])
	return &told{pipelines.ReasonEnvironmentNotReady, shorten(fmt.Sprintf("environment %s: %s", d.steps[0].name(), g.message), maxMessage)}
}

// progress says what is going on, or that nothing is until somebody acts.
func (d *draft) progress() (moving, halted *told) {
	for _, s := range d.steps {
		p := d.environment(s.name()).Promotion
		if s.index > 0 && p != nil && p.State == pipelines.PromotionAttempting && len(d.stops(s.name())) == 0 {
			return &told{reasonPromoting, fmt.Sprintf("revision %s is promoted to environment %s, attempt %d", p.Revision, s.name(), p.Attempts)}, nil
		}
	}
	for _, hold := range d.status().Holds {
		t := toldOf(hold)
		switch {
		case idle[hold.Reason]:
		case stuck[hold.Reason]:
			if halted == nil {
				halted = t
			}
		default:
			return t, nil
		}
	}
	return nil, halted
}
