// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
)

// PhaseOf returns the phase of a TargetSync from its status.
func PhaseOf(ts *lsv1alpha1.TargetSync) Phase {
	for _, c := range ts.Status.Conditions {
		if c.Type != lsv1alpha1.ConditionReady {
			continue
		}
		if c.Status == lsv1alpha1.ConditionTrue {
			return Synchronised
		}
		return Failing
	}
	return ""
}

// Settle writes the outcome of a decision into the status. Intermediate steps store only the time of a rotation. The time of the last
// update changes only with an update, so that a synchronisation without changes writes nothing.
func Settle(ts *lsv1alpha1.TargetSync, o Observed, d Decision, err error) Observed {
	before := ts.Status.DeepCopy()
	status := &ts.Status
	// A status stores whole seconds.
	if last := rotated(o).Truncate(time.Second); last.After(o.LastRotation) {
		at := metav1.NewTime(last)
		status.LastTokenRotationTime, o.LastRotation = &at, last
	}
	if err == nil && !d.Wait || o.Deleting && err == nil {
		return o
	}
	status.ObservedGeneration = o.Generation
	status.LastErrors = linesOf(err)
	if o.RequestedAt != "" {
		status.LastHandledReconcileAt = o.RequestedAt
	}
	status.Conditions = withReady(before.Conditions, ready(o, d, err))
	if o.Changed || !reflect.DeepEqual(before, status) {
		at := metav1.NewTime(o.Now)
		status.LastUpdateTime = &at
	}
	return o
}

// linesOf returns the errors, one entry per problem.
func linesOf(err error) []string {
	if err == nil {
		return nil
	}
	text := strings.TrimPrefix(err.Error(), Refuse{}.String()+": ")
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}

func ready(o Observed, d Decision, err error) lsv1alpha1.Condition {
	at := metav1.NewTime(o.Now)
	c := lsv1alpha1.Condition{
		Type: lsv1alpha1.ConditionReady, Status: lsv1alpha1.ConditionTrue, Reason: d.Why.Code, Message: d.Why.Message,
		ObservedGeneration: o.Generation, LastTransitionTime: at, LastUpdateTime: at,
	}
	if err != nil {
		c.Status, c.Reason, c.Message = lsv1alpha1.ConditionFalse, failure.DetailsOf(err).Reason, strings.Join(linesOf(err), "; ")
	}
	return c
}

// withReady replaces the condition of the same type. Its times change only with its content.
func withReady(before []lsv1alpha1.Condition, c lsv1alpha1.Condition) []lsv1alpha1.Condition {
	after := slices.Clone(before)
	i := slices.IndexFunc(after, func(b lsv1alpha1.Condition) bool { return b.Type == c.Type })
	if i < 0 {
		return append(after, c)
	}
	if was := after[i]; was.Status == c.Status {
		c.LastTransitionTime = was.LastTransitionTime
		if was.Reason == c.Reason && was.Message == c.Message && was.ObservedGeneration == c.ObservedGeneration {
			c.LastUpdateTime = was.LastUpdateTime
		}
	}
	after[i] = c
	return after
}
