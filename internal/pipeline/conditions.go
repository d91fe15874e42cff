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

// reasonPromoting is a reason of conditions, in addition to those of the API and of holds.
const reasonPromoting = "Promoting"

// stuck holds end only if a user acts.
var stuck = map[pipelines.HoldReason]bool{
	pipelines.HoldFailed: true, pipelines.HoldAbandoned: true, pipelines.HoldRejected: true, pipelines.HoldRolledBack: true,
	pipelines.HoldStalled: true, pipelines.HoldInvalid: true,
}

// idle holds are part of the intended configuration.
var idle = map[pipelines.HoldReason]bool{pipelines.HoldNoStrategy: true, pipelines.HoldNoTargets: true}

// told is the content of a condition; nil if the condition is absent.
type told struct{ reason, message string }

// condition returns a condition that is True, or one without a status, which removes it.
func condition(kind string, t *told) metav1.Condition {
	if t == nil {
		return metav1.Condition{Type: kind}
	}
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: t.reason, Message: t.message}
}

// conditions returns the previous conditions with some of them set or removed.
func conditions(f facts, changes ...metav1.Condition) []metav1.Condition {
	all := slices.Clone(f.Status.Conditions)
	for _, c := range changes {
		if c.Status == "" {
			meta.RemoveStatusCondition(&all, c.Type)
			continue
		}
		c.ObservedGeneration, c.LastTransitionTime = f.Generation, f.now
		meta.SetStatusCondition(&all, c)
	}
	return all
}

// readiness returns the condition Ready: whether all targets can be read and nothing has failed.
func readiness(views []view, l ledger, holds []pipelines.Hold) metav1.Condition {
	c := metav1.Condition{
		Type:    pipelines.ConditionReady,
		Status:  metav1.ConditionTrue,
		Reason:  pipelines.ReasonReconciliationSucceeded,
		Message: "All clusters checked",
	}
	for _, v := range views {
		i := slices.IndexFunc(v.seen.Targets, func(t Target) bool { return !t.Readable() })
		if i < 0 {
			continue
		}
		c.Status, c.Reason = metav1.ConditionFalse, v.seen.Targets[i].Problem.Reason
		if c.Reason == "" {
			c.Reason = pipelines.ReasonTargetNotReadable
		}
		c.Message = shorten(fmt.Sprintf("environment %s: %s", v.name(), v.unreadable()), maxMessage)
		return c
	}
	if t := failing(l, holds); t != nil {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, t.reason, t.message
	}
	return c
}

// failing returns what has failed, also if it is retried; nil if nothing has. What is stuck comes first. A promotion counts until one of
// its attempts succeeds, so that it does not seem ready during each of them.
func failing(l ledger, holds []pipelines.Hold) *told {
	for _, counts := range []func(pipelines.Hold) bool{
		func(h pipelines.Hold) bool { return stuck[h.Reason] },
		func(h pipelines.Hold) bool { return h.Reason == pipelines.HoldRetrying },
	} {
		if i := slices.IndexFunc(holds, counts); i >= 0 {
			return toldOf(holds[i])
		}
	}
	for _, r := range l.records {
		if p := r.Promotion; p != nil && p.State == pipelines.PromotionAttempting && p.Attempts > 1 {
			return &told{string(pipelines.HoldRetrying), promoting(r.name, p)}
		}
	}
	return nil
}

// promoting says which attempt is under way.
func promoting(environment string, p *pipelines.PromotionStatus) string {
	return fmt.Sprintf("promoting revision %s to environment %s, attempt %d", p.Revision, environment, p.Attempts)
}

// toldOf returns the content of a condition for a hold.
func toldOf(hold pipelines.Hold) *told {
	t := &told{string(hold.Reason), hold.Message}
	if hold.Environment != "" {
		t.message = shorten(fmt.Sprintf("environment %s: %s", hold.Environment, hold.Message), maxMessage)
	}
	return t
}

// pending returns why the first environment has not settled; nil if it has.
func pending(steps []step) *told {
	if len(steps) == 0 || steps[0].verdict != verdictUnsettled {
		return nil
	}
	g := firstHold(steps[0])
	return &told{pipelines.ReasonEnvironmentNotReady, shorten(fmt.Sprintf("environment %s: %s", steps[0].name(), g.message), maxMessage)}
}

// progress is what is under way, or that nothing continues until a user acts.
type progress struct{ moving, halted *told }

func progressOf(f facts, closed []barrier, l ledger, holds []pipelines.Hold) progress {
	for _, s := range f.steps {
		p := l.of(s.name()).Promotion
		if s.index > 0 && p != nil && p.State == pipelines.PromotionAttempting && len(closed[s.index].stops) == 0 {
			return progress{moving: &told{reasonPromoting, promoting(s.name(), p)}}
		}
	}
	var halted *told
	for _, hold := range holds {
		switch {
		case idle[hold.Reason]:
		case stuck[hold.Reason]:
			if halted == nil {
				halted = toldOf(hold)
			}
		default:
			return progress{moving: toldOf(hold)}
		}
	}
	return progress{halted: halted}
}
