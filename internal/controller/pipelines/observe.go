// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines

import (
	"context"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/fleet"
	"espalier.dev/internal/pipeline"
)

// Observe collects what memory holds about a pipeline, and says which applications and repositories it means, so that memory holds them
// the next time.
func (k *kind) Observe(_ context.Context, p *pipelines.Pipeline, now time.Time) (pipeline.Observed, error) {
	owner := client.ObjectKeyFromObject(p)
	o := pipeline.Observed{
		Now:              now,
		Namespace:        p.Namespace,
		Name:             p.Name,
		Generation:       p.Generation,
		Spec:             p.Spec,
		Status:           *p.Status.DeepCopy(),
		Deleted:          !p.DeletionTimestamp.IsZero(),
		Finalizer:        slices.Contains(p.Finalizers, pipeline.Finalizer),
		KeepPullRequests: p.Annotations[pipeline.KeepPullRequestsAnnotation] == "true",
		Requests:         pipeline.ReadRequests(p.Annotations),
		UserHolds:        pipeline.ReadHolds(p.Annotations),
		RolloutDeadline:  k.rolloutDeadline,
		Attempts:         k.attempts.of(owner, pipeline.LiveAttempts(p.Status)),
	}
	o.Environments = k.observeTargets(p, o.Deleted)
	k.pulls.observe(p, &o)
	return o, nil
}

// observeTargets reads the state of all applications. A pipeline that is going means none of them any more.
func (k *kind) observeTargets(p *pipelines.Pipeline, deleted bool) []pipeline.Environment {
	owner := client.ObjectKeyFromObject(p)
	environments := make([]pipeline.Environment, len(p.Spec.Environments))
	if deleted {
		k.fleet.Forget(owner)
		return environments
	}
	var meant []fleet.Application
	var problem error
	for _, environment := range p.Spec.Environments {
		for _, target := range environment.Targets {
			application, err := fleet.ApplicationOf(p, target)
			if err != nil {
				problem = err
				continue
			}
			meant = append(meant, application)
		}
	}
	k.fleet.Refer(owner, meant)
	for i, environment := range p.Spec.Environments {
		for range environment.Targets {
			if problem != nil {
				environments[i].Targets = append(environments[i].Targets, pipeline.Target{Problem: pipeline.Problem{
					Reason: pipelines.ReasonTargetNotReadable, Message: problem.Error(),
				}})
				continue
			}
			environments[i].Targets = append(environments[i].Targets, factsOf(k.fleet.Read(meant[0])))
			meant = meant[1:]
		}
	}
	return environments
}

func factsOf(state fleet.State) pipeline.Target {
	facts := pipeline.Target{
		UnreadableSince:   state.UnreadableSince,
		Healthy:           state.Healthy,
		Revision:          state.Revision,
		AttemptedRevision: state.AttemptedRevision,
		Failing:           state.Failing,
		Suspended:         state.Suspended,
		Deleting:          state.Deleting,
		ReadySince:        state.ReadySince,
		Message:           state.Message,
	}
	if !state.Known() {
		facts.Problem = pipeline.Problem{
			Starting: state.Problem.Reason == fleet.ReasonStarting,
			Reason:   state.Problem.Reason.Condition(),
			Message:  state.Problem.Message,
		}
	}
	return facts
}
