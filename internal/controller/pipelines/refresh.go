// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines

import (
	"cmp"
	"context"

	"sigs.k8s.io/controller-runtime/pkg/log"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/gitprovider/gitremote"
	"espalier.dev/internal/pipeline"
)

// refresher keeps the branch of an open pull request such that it can be merged: when the base branch has moved on, the same is proposed
// again, which makes the branch anew if the same files have changed, and never if somebody else has worked on it. Nothing is recorded:
// whatever happens to it, it can be done again. The poller will tell of the new commit.
func (p *pulls) refresher(owner *pipelines.Pipeline, environment string, strategy pipelines.PullRequestStrategy) look {
	owner = owner.DeepCopy()
	promotion := owner.Status.Environments[environment].Promotion
	again := pipeline.Promote{
		ID:       pipeline.AttemptID{Verb: pipeline.VerbPromote, Environment: environment, Key: promotion.Key},
		Revision: promotion.Revision, Value: cmp.Or(promotion.Value, promotion.Revision), Run: promotion.Run,
		Branch: promotion.PullRequest.Branch, Downgrade: promotion.Downgrade,
	}
	seen := promotion.PullRequest.BaseCommit
	return func(ctx context.Context) string {
		tip, err := p.refresh(ctx, owner, again, strategy, seen)
		if err != nil && ctx.Err() == nil {
			log.Log.Info("The branch of a pull request was not brought up to date", "pipeline", owner.Namespace+"/"+owner.Name,
				"environment", environment, "branch", again.Branch, "error", err.Error())
		}
		seen = cmp.Or(tip, seen)
		return ""
	}
}

// refresh proposes again if the base branch is not where it was seen, and returns where it is.
func (p *pulls) refresh(
	ctx context.Context,
	owner *pipelines.Pipeline,
	again pipeline.Promote,
	strategy pipelines.PullRequestStrategy,
	seen string,
) (tip string, err error) {
	place, _, err := p.open(ctx, owner.Namespace, strategy)
	if err != nil {
		return "", err
	}
	remote, err := gitremote.Connect(place.Git)
	if err != nil {
		return "", err
	}
	defer remote.Close()
	tips, err := remote.Tips(ctx, strategy.BaseBranch)
	if err != nil || tips[strategy.BaseBranch] == seen {
		return "", err
	}
	leave, err := enter(ctx, p.turns(strategy))
	defer leave()
	if err != nil {
		return "", err
	}
	made, err := p.proposer.Propose(ctx, requestFor(owner, again, strategy, place))
	if err != nil {
		return "", err
	}
	p.news.lookNow(place.Provider.Repository())
	return cmp.Or(made.BaseCommit, tips[strategy.BaseBranch]), nil
}
