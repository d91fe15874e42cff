// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"slices"
	"strings"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// Recall reconstructs the facts from the status of a pipeline, for code that explains the status and cannot read the targets. These facts
// start nothing: recorded attempts count as running.
func Recall(p *pipelines.Pipeline, now time.Time) Observed {
	o := Observed{
		Now: now, Namespace: p.Namespace, Name: p.Name, Generation: p.Generation, Spec: *p.Spec.DeepCopy(), Status: *p.Status.DeepCopy(),
		Deleted: p.DeletionTimestamp != nil, Finalizer: slices.Contains(p.Finalizers, Finalizer),
		KeepPullRequests: p.Annotations[KeepPullRequestsAnnotation] == "true",
		Attempts:         map[AttemptID]Attempt{},
		Requests:         ReadRequests(p.Annotations),
		SuspendReason:    p.Annotations[lsv1alpha1.SuspendReasonAnnotation],
		UserHolds:        ReadHolds(p.Annotations),
	}
	for id := range LiveAttempts(p.Status) {
		o.Attempts[id] = Attempt{State: AttemptRunning}
	}
	for _, spec := range p.Spec.Environments {
		recorded := p.Status.Environments[spec.Name].Targets
		environment := Environment{}
		environment.ListingPending, environment.ListingProblem = recallListing(p.Status.Holds, spec.Name)
		for i := range spec.Targets {
			if i < len(recorded) {
				environment.Targets = append(environment.Targets, recallTarget(recorded[i]))
			} else {
				environment.Targets = append(environment.Targets, Target{Problem: Problem{
					Starting: true, Reason: pipelines.ReasonTargetNotReadable, Message: "has not been checked yet",
				}})
			}
		}
		o.Environments = append(o.Environments, environment)
	}
	return o
}

// recallListing reports whether the pull requests of an environment are still being looked up, and why that fails.
func recallListing(holds []pipelines.Hold, environment string) (pending bool, problem string) {
	i := slices.IndexFunc(holds, func(h pipelines.Hold) bool {
		return h.Environment == environment && h.Reason == pipelines.HoldLookingUp
	})
	if i < 0 {
		return false, ""
	}
	_, problem, _ = strings.Cut(holds[i].Message, unlistedText(environment)+": ")
	return true, problem
}

func recallTarget(status pipelines.TargetStatus) Target {
	t := Target{Healthy: status.Ready, Revision: status.Revision, Message: status.Message, NeverDeployed: status.NeverDeployed}
	if status.UnreadableSince != nil {
		t.Problem = Problem{Reason: cmp.Or(status.Reason, pipelines.ReasonTargetNotReadable), Message: status.Error}
		t.UnreadableSince = status.UnreadableSince.Time
	}
	return t
}
