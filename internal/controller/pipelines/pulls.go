// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/gitremote"
	"espalier.dev/internal/gitprovider/marker"
	"espalier.dev/internal/gitprovider/providers"
	"espalier.dev/internal/gitprovider/pullrequest"
	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/tenancy"
)

// pulls promotes by pull requests and follows their state.
type pulls struct {
	// secrets reads Secrets one by one, on demand; none is cached.
	secrets  client.Reader
	tenancy  *tenancy.Strict
	rules    dial.Rules
	proposer *pullrequest.Proposer
	news     *news
	all      pool

	mu     sync.Mutex
	queues map[gitprovider.Repository]pool
}

func newPulls(secrets client.Reader, options Options, wake func(types.NamespacedName)) *pulls {
	p := &pulls{
		secrets: secrets, rules: options.Dialer, proposer: pullrequest.New(), all: newPool(options.ConcurrentPullRequests),
		queues: map[gitprovider.Repository]pool{},
	}
	p.news = newNews(p, options.PollInterval, wake)
	return p
}

// turns returns the pools for work in a repository: waiting for other work in the same repository delays no other repository.
func (p *pulls) turns(strategy pipelines.PullRequestStrategy) []pool {
	repository, err := providers.Identify(strategy.Type, strategy.URL, p.rules)
	if err != nil {
		return nil // the attempt will report it
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queues[repository] == nil {
		p.queues[repository] = newPool(1)
	}
	return []pool{p.queues[repository], p.all}
}

//espalier:rights pipelines
//	get secrets: tokens of Git servers

// open rereads the credentials of a repository. inputs identifies them without revealing anything.
func (p *pulls) open(
	ctx context.Context,
	namespace string,
	strategy pipelines.PullRequestStrategy,
) (place pullrequest.Place, inputs string, err error) {
	var secret corev1.Secret
	ctx = p.tenancy.Within(ctx, namespace)
	err = p.secrets.Get(ctx, types.NamespacedName{Namespace: namespace, Name: strategy.SecretRef.Name}, &secret)
	if apierrors.IsNotFound(err) {
		return place, "", failure.NewRetryable(failure.Details{Reason: pipeline.ReasonNoCredentials},
			fmt.Errorf("pull-request.secretRef refers to Secret %s/%s, which does not exist: create it with the keys %s, %s and %s",
				namespace, strategy.SecretRef.Name, gitprovider.KeyUsername, gitprovider.KeyPassword, gitprovider.KeyToken))
	}
	if err != nil {
		err = fmt.Errorf("read Secret %s/%s with the credentials of the repository: %w", namespace, strategy.SecretRef.Name, err)
		explained := tenancy.Explain(ctx, err)
		if apierrors.IsForbidden(err) || tenancy.Barred(ctx, err) {
			explained = failure.NewRetryable(failure.Details{Reason: pipeline.ReasonCredentialsDenied}, explained)
		}
		return place, "", explained
	}
	credentials, err := gitprovider.CredentialsFrom(secret.Data)
	if err != nil {
		return place, string(secret.UID) + secret.ResourceVersion, fmt.Errorf("use Secret %s/%s: %w", namespace, strategy.SecretRef.Name, err)
	}
	print := credentials.Fingerprint()
	inputs = hex.EncodeToString(print[:8])
	provider, err := providers.New(providers.Settings{Type: strategy.Type, URL: strategy.URL, Credentials: credentials, Rules: p.rules})
	if err != nil {
		return place, inputs, err
	}
	cloneURL, err := providers.CloneURL(strategy.Type, strategy.URL, p.rules)
	if err != nil {
		return place, inputs, err
	}
	return pullrequest.Place{
		Provider: provider,
		Git:      gitremote.Settings{URL: cloneURL, Credentials: credentials, Rules: p.rules},
	}, inputs, nil
}

// promotion returns the task of an attempt to open a pull request.
func (p *pulls) promotion(owner *pipelines.Pipeline, e pipeline.Promote) task {
	strategy := *e.Strategy.PullRequest
	return task{p.turns(strategy), func(ctx context.Context) (pipeline.Result, error) {
		place, inputs, err := p.open(ctx, owner.Namespace, strategy)
		if err != nil {
			return pipeline.Result{}, changeable{err, inputs}
		}
		// Whatever the outcome, earlier listings may lack the pull request.
		defer p.news.recalls.end(seeker{client.ObjectKeyFromObject(owner), e.ID.Environment})
		made, err := p.proposer.Propose(ctx, requestFor(owner, e, strategy, place))
		if failure.KindOf(err) == failure.Terminal {
			inputs = p.inputs(ctx, owner.Namespace, strategy)
		}
		if err != nil {
			return pipeline.Result{}, changeable{err, inputs}
		}
		p.news.pollNow(place.Provider.Repository())
		return resultOf(made, e), nil
	}}
}

// requestFor returns the pull request that all attempts of a promotion request.
func requestFor(
	owner *pipelines.Pipeline,
	e pipeline.Promote,
	strategy pipelines.PullRequestStrategy,
	place pullrequest.Place,
) pullrequest.Request {
	return pullrequest.Request{
		Place: place, Base: strategy.BaseBranch, Branch: e.Branch, Key: e.ID.Key,
		Marker:   marker.Marker{Namespace: owner.Namespace, Pipeline: owner.Name, Environment: e.ID.Environment},
		Revision: e.Revision, Value: e.Value, Run: e.Run, Note: noteOn(e), Time: begunAt(owner, e),
		Retry: isRetry(owner, e), Expected: expectedAt(owner, e),
	}
}

// isRetry reports whether the same run has already promoted the revision.
func isRetry(owner *pipelines.Pipeline, e pipeline.Promote) bool {
	promotion := owner.Status.Environments[e.ID.Environment].Promotion
	return promotion != nil && promotion.Retries > 0
}

// expectedAt returns the values that the base branch may hold before a promotion: the running one, the one promoted before, and the one
// promoted now. It returns nil if any value may be there: before the first promotion, or if a user requests the promotion and so has seen
// the current value.
func expectedAt(owner *pipelines.Pipeline, e pipeline.Promote) []string {
	status := owner.Status.Environments[e.ID.Environment]
	if len(status.History) == 0 || status.Promotion == nil || status.Promotion.Expedited || status.Promotion.Retries > 0 {
		return nil
	}
	expected := []string{e.Value}
	for _, target := range status.Targets {
		expected = append(expected, target.Revision, pipeline.Value(owner.Spec.AppRef.Kind, target.Revision))
	}
	for _, promotion := range status.History {
		expected = append(expected, promotion.Revision, promotion.Value)
	}
	return expected
}

// noteOn returns a warning for the reviewers of the pull request.
func noteOn(e pipeline.Promote) string {
	if !e.Downgrade {
		return ""
	}
	return "**Note:** a target of this environment runs a higher version than the promoted one."
}

// begunAt returns when the promotion started. The commit has that time, so that all attempts create the same one.
func begunAt(owner *pipelines.Pipeline, e pipeline.Promote) time.Time {
	if promotion := owner.Status.Environments[e.ID.Environment].Promotion; promotion != nil {
		return promotion.StartTime.Time
	}
	return time.Time{}
}

func resultOf(made pullrequest.Result, e pipeline.Promote) pipeline.Result {
	result := pipeline.Result{BaseCommit: made.BaseCommit}
	if made.PullRequest != nil {
		result.PullRequest = factsOfPullRequest(*made.PullRequest)
		result.PullRequest.Environment, result.PullRequest.Key = e.ID.Environment, cmp.Or(made.Key, e.ID.Key)
		result.PullRequest.Revision, result.PullRequest.Run = e.Revision, e.Run
	}
	result.Present = made.Outcome == pullrequest.AlreadyPresent
	return result
}

// withdrawal returns the task of an attempt to close a pull request.
func (p *pulls) withdrawal(namespace string, e pipeline.Withdraw) task {
	if e.PullRequest.Repository == nil {
		return task{do: func(context.Context) (pipeline.Result, error) { return pipeline.Result{}, nil }}
	}
	strategy := *e.PullRequest.Repository
	return task{p.turns(strategy), func(ctx context.Context) (pipeline.Result, error) {
		place, inputs, err := p.open(ctx, namespace, strategy)
		if err != nil {
			return pipeline.Result{}, changeable{err, inputs}
		}
		done, err := p.proposer.Withdraw(ctx, pullrequest.Withdrawal{
			Place: place, Base: strategy.BaseBranch, Branch: e.PullRequest.Branch, Key: e.ID.Key, Number: e.PullRequest.Number, Comment: e.Message,
			Repeated: e.ID.Number > 1,
		})
		var result pipeline.Result
		if done.PullRequest != nil {
			result.PullRequest = factsOfPullRequest(*done.PullRequest)
		}
		if err != nil {
			return result, changeable{err, inputs}
		}
		p.news.pollNow(place.Provider.Repository())
		return result, nil
	}}
}

func factsOfPullRequest(p gitprovider.PullRequest) pipeline.PullRequest {
	return pipeline.PullRequest{
		Number: p.Number, URL: p.URL, State: pipelines.PullRequestState(p.State), Branch: p.Head, HeadCommit: p.HeadCommit,
		MergeCommit: p.MergeCommit, ClosedBy: p.ClosedBy, ClosedTime: p.ClosedTime,
	}
}

// factsOfChecks returns nil until the checks have been requested.
func factsOfChecks(c *gitprovider.Checks) *pipelines.PullRequestChecks {
	if c == nil {
		return nil
	}
	return &pipelines.PullRequestChecks{
		State: pipelines.ChecksState(c.State), Commit: c.Commit, URL: c.URL, Total: int32(c.Total()), Passed: int32(c.Passed),
		Failed: int32(c.Failed), Running: int32(c.Running), FailedNames: c.FailedNames,
	}
}

// close ends the work that runs concurrently with the passes.
func (p *pulls) close() { p.news.close() }

// forget drops all state of a pipeline.
func (p *pulls) forget(owner types.NamespacedName) { p.news.forget(owner) }

// observe adds the known state of pull requests to the facts about a pipeline.
func (p *pulls) observe(owner *pipelines.Pipeline, o *pipeline.Observed) { p.news.observe(owner, o) }
