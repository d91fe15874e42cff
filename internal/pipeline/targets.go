// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// observeTargets records the state of the targets of an environment, and when it became healthy.
func observeTargets(f facts, v view, r record) record {
	seen := r.Targets
	r.Targets = nil
	for i, t := range v.seen.Targets {
		var before pipelines.TargetStatus
		if i < len(seen) {
			before = seen[i]
		}
		t.Revision = v.reported[i]
		now := targetStatus(f, v.spec.Targets[i], t, before)
		if news, first := problemOf(v, i, before, now); first {
			r = r.tell(news)
		}
		r.Targets = append(r.Targets, now)
	}
	r.Healthy = health(f, v, r.Healthy)
	return r
}

// targetStatus returns the status of a target. If the target cannot be read, it keeps the last known state.
func targetStatus(f facts, spec pipelines.Target, t Target, before pipelines.TargetStatus) pipelines.TargetStatus {
	status := pipelines.TargetStatus{
		ClusterAppRef: pipelines.ClusterAppReference{AppReference: f.Spec.AppRef, ClusterRef: spec.ClusterRef.DeepCopy()},
		Namespace:     spec.Namespace, Ready: t.Healthy, Revision: t.Revision,
	}
	if t.Readable() {
		status.NeverDeployed = t.NeverDeployed
		if !t.Healthy {
			status.Message = shorten(t.Message, maxMessage)
		}
		return status
	}
	same := sameTarget(before, status)
	status.Ready, status.Error, status.Reason = false, shorten(t.Problem.Message, maxMessage), t.Problem.Reason
	if same && before.Revision != "" {
		status.Revision = before.Revision
	}
	since := f.now
	if !t.UnreadableSince.IsZero() {
		since = seconds(t.UnreadableSince)
	}
	if same && before.UnreadableSince != nil {
		since = *before.UnreadableSince
	}
	status.UnreadableSince = &since
	return status
}

func sameTarget(a, b pipelines.TargetStatus) bool {
	return equality.Semantic.DeepEqual(a.ClusterAppRef, b.ClusterAppRef) && a.Namespace == b.Namespace
}

// problemOf reports that a target cannot be read, once per reason.
func problemOf(v view, i int, before, now pipelines.TargetStatus) (News, bool) {
	if now.Reason == "" || sameTarget(before, now) && before.Reason == now.Reason {
		return News{}, false
	}
	return News{
		Warning: true, Reason: problemNews(now.Reason), Environment: v.name(),
		Message: shorten(fmt.Sprintf("environment %s: %s: %s", v.name(), nameTarget(v.spec.Targets[i]), now.Error), maxMessage),
	}, true
}

// problemNews returns the reason of the Event about a problem.
func problemNews(reason string) string {
	switch reason {
	case pipelines.ReasonReferenceNotPermitted, pipelines.ReasonKindNotPermitted:
		return reason
	case pipelines.ReasonTargetClusterNotFound, pipelines.ReasonTargetClusterNotReady:
		return "GetClusterError"
	}
	return "GetAppError"
}

// health returns when an environment became healthy. The time restarts when a target reports that it became ready later.
func health(f facts, v view, before *pipelines.EnvironmentHealth) *pipelines.EnvironmentHealth {
	revision := v.revision()
	if revision == "" {
		return nil
	}
	since := f.now
	if before != nil && before.Revision == revision {
		since = before.Since
	}
	for _, t := range v.seen.Targets {
		if ready := seconds(t.ReadySince); ready.After(since.Time) && !ready.After(f.now.Time) {
			since = ready
		}
	}
	return &pipelines.EnvironmentHealth{Revision: revision, Since: since}
}
