// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines

import (
	"context"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/controller/requests"
	"espalier.dev/internal/fleet"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/pipeline"
)

// Observe collects the cached facts about a pipeline, and registers the applications and repositories that it refers to, so that they are
// cached for the next pass.
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
		RequestedAt:      p.Annotations[requests.Annotation],
		Requests:         pipeline.ReadRequests(p.Annotations),
		SuspendReason:    p.Annotations[lsv1alpha1.SuspendReasonAnnotation],
		UserHolds:        pipeline.ReadHolds(p.Annotations),
		RolloutDeadline:  k.rolloutDeadline,
		Attempts:         k.attempts.of(owner, pipeline.LiveAttempts(p.Status)),
	}
	o.Environments = k.observeTargets(p, o.Deleted)
	k.pulls.observe(p, &o)
	if o.RequestedAt != "" && o.RequestedAt != p.Status.LastHandledReconcileAt {
		k.recheckNow(p)
	}
	return o, nil
}

// recheckNow immediately rechecks what is otherwise checked later: clusters that could not be connected to, and pull requests.
func (k *kind) recheckNow(p *pipelines.Pipeline) {
	k.fleet.Reconnect(client.ObjectKeyFromObject(p))
	for _, environment := range p.Status.Environments {
		promotion := environment.Promotion
		if promotion == nil || promotion.PullRequest == nil || promotion.PullRequest.Repository == nil {
			continue
		}
		if source, known := k.pulls.news.source(p.Namespace, *promotion.PullRequest.Repository); known {
			k.pulls.news.pollNow(source.Repository)
			k.pulls.news.poller.CheckNow(gitprovider.Event{Repository: source.Repository, Number: promotion.PullRequest.Number})
		}
	}
}

// observeTargets reads the state of all applications that the pipeline may refer to. The controller neither reads nor watches others on
// behalf of the pipeline. A pipeline that is being deleted no longer refers to any.
func (k *kind) observeTargets(p *pipelines.Pipeline, deleted bool) []pipeline.Environment {
	owner := client.ObjectKeyFromObject(p)
	environments := make([]pipeline.Environment, len(p.Spec.Environments))
	if deleted {
		k.fleet.Forget(owner)
		k.grants.ask(owner, nil)
		return environments
	}
	k.grants.ask(owner, referencesOf(p))
	var meant []fleet.Application
	admitted := make([][]admission, len(p.Spec.Environments))
	for i, environment := range p.Spec.Environments {
		for _, target := range environment.Targets {
			a := k.admit(p, target)
			if admitted[i] = append(admitted[i], a); a.problem == (pipeline.Problem{}) {
				meant = append(meant, a.application)
			}
		}
	}
	k.fleet.Refer(owner, meant)
	for i, targets := range admitted {
		for _, a := range targets {
			facts := pipeline.Target{Problem: a.problem}
			if facts.Readable() {
				facts = factsOf(k.fleet.Read(a.application))
			}
			environments[i].Targets = append(environments[i].Targets, facts)
		}
	}
	return environments
}

// admission is the application that a target refers to, or why it must not be read.
type admission struct {
	application fleet.Application
	problem     pipeline.Problem
}

func (k *kind) admit(p *pipelines.Pipeline, target pipelines.Target) admission {
	application, err := fleet.ApplicationOf(p, target)
	if err != nil {
		return admission{problem: pipeline.Problem{Reason: pipelines.ReasonTargetNotReadable, Message: err.Error()}}
	}
	if refused := pipeline.KindRefused(p.Spec.AppRef, k.kinds); refused != (pipeline.Problem{}) {
		return admission{problem: refused}
	}
	if reference, foreign := pipeline.ReferenceOf(p.Namespace, p.Spec.AppRef, target); foreign {
		return admission{application: application, problem: k.grants.refusal(reference)}
	}
	return admission{application: application}
}

// referencesOf returns all references of a pipeline into other namespaces.
func referencesOf(p *pipelines.Pipeline) []pipeline.Reference {
	var references []pipeline.Reference
	for _, environment := range p.Spec.Environments {
		for _, target := range environment.Targets {
			if reference, foreign := pipeline.ReferenceOf(p.Namespace, p.Spec.AppRef, target); foreign {
				references = append(references, reference)
			}
		}
	}
	return references
}

func factsOf(state fleet.State) pipeline.Target {
	facts := pipeline.Target{
		UnreadableSince:   state.UnreadableSince,
		Healthy:           state.Healthy,
		Revision:          state.Revision,
		NeverDeployed:     state.NeverDeployed,
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
