// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/loop"
)

type announcement = func(context.Context, loop.News[*lsv1alpha1.Installation, lsv1alpha1.Phase])

// warningsTo also emits an Event when a pass has rendered the blueprint and found new warnings.
func warningsTo(recorder events.EventRecorder, rest announcement) announcement {
	return func(ctx context.Context, news loop.News[*lsv1alpha1.Installation, lsv1alpha1.Phase]) {
		rest(ctx, news)
		status := &news.Object.Status
		i := slices.IndexFunc(status.Conditions, func(c lsv1alpha1.Condition) bool { return c.Type == lsv1alpha1.ConditionBlueprintWarnings })
		if i < 0 || !rendered(news.Transitions) || status.Conditions[i].LastUpdateTime.Before(status.PhaseTransitionTime) {
			return
		}
		recorder.Eventf(
			news.Object,
			nil,
			corev1.EventTypeWarning,
			string(lsv1alpha1.ConditionBlueprintWarnings),
			"Render",
			"%s",
			status.Conditions[i].Message,
		)
	}
}

// endsTo announces the failures of jobs, and the end of a root's job: other progress is in the status, and each Event costs a request. In
// the continuous flow, in which users request nothing, it announces all phases.
func endsTo(rest announcement) announcement {
	return func(ctx context.Context, news loop.News[*lsv1alpha1.Installation, lsv1alpha1.Phase]) {
		last := news.Transitions[len(news.Transitions)-1]
		quiet := !last.To.IsFinal() || last.To == lsv1alpha1.PhaseSucceeded && !installation.IsRoot(news.Object)
		if news.Err == nil && quiet && news.Object.Status.JobID != "" && installation.FlowOf(news.Object) == lsv1alpha1.FlowJob {
			return
		}
		rest(ctx, news)
	}
}

// rendered reports whether the transitions include the rendering of a blueprint: they do if they reach the phase after it, in either flow.
func rendered(transitions []loop.Transition[lsv1alpha1.Phase]) bool {
	return slices.ContainsFunc(transitions, func(t loop.Transition[lsv1alpha1.Phase]) bool {
		return t.To == lsv1alpha1.PhaseCleanupOrphaned || t.From == lsv1alpha1.PhasePendingDependencies && t.To == lsv1alpha1.PhaseProgressing
	})
}
