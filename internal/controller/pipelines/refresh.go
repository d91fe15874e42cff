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

// refresher keeps the branch of an open pull request mergeable: when the base branch has changed, it proposes the same change again. That
// recreates the branch if the same files have changed, unless another client has changed the branch. It records nothing, because it can be
// repeated at any time. The poller reports the new commit.
func (p *pulls) refresher(owner *pipelines.Pipeline, environment string, strategy pipelines.PullRequestStrategy) finder {
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
			log.Log.Info("Cannot update the branch of a pull request", "pipeline", owner.Namespace+"/"+owner.Name,
				"environment", environment, "branch", again.Branch, "error", err.Error())
		}
		seen = cmp.Or(tip, seen)
		return ""
	}
}

// refresh proposes the revision again if the base branch has changed since it was last read, and returns its new tip.
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
	p.news.pollNow(place.Provider.Repository())
	return cmp.Or(made.BaseCommit, tips[strategy.BaseBranch]), nil
}
